// SPDX-License-Identifier: Apache-2.0
// LLVM IR for a GPU made fit for the host.
#pragma once

#include "llvm/IR/Module.h"

namespace dlc::test {

/// "entry.k" takes an array with the arguments of kernel k.
constexpr char kEntryPrefix[] = "entry.";

/// Kernels become plain functions with an entry each; GPU intrinsics become
/// calls of Grid.h's functions, libdevice's of libm's; shared arrays become
/// globals.
void retarget(llvm::Module &module, const llvm::Triple &triple,
              const llvm::DataLayout &layout);

bool isShared(const llvm::GlobalVariable &variable);

} // namespace dlc::test

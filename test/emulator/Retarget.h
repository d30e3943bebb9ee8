// LLVM IR for a GPU made fit for the host.
#pragma once

#include "llvm/IR/Module.h"
#include <string>

namespace dlc::test {

/// "entry.k" takes an array with the arguments of kernel k.
constexpr char kEntryPrefix[] = "entry.";

/// Kernels become plain functions with an entry each; GPU intrinsics become
/// calls of functions that are named after them; shared arrays become globals.
void retarget(llvm::Module &module, const llvm::Triple &triple,
              const llvm::DataLayout &layout);

bool isShared(const llvm::GlobalVariable &variable);

/// The name that a declaration had before.
std::string nameOfCallee(const llvm::Function &declaration);

} // namespace dlc::test

// SPDX-License-Identifier: Apache-2.0
// Compiles LLVM IR of kernels to PTX.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace dlc::cuda {

/// Links the functions of libdevice that `module` calls, from the file
/// `libdevice`, as internal functions. Does nothing if there are no such calls.
/// On failure `why` names the missing function.
llvm::LogicalResult linkLibdevice(llvm::Module &module,
                                  llvm::StringRef libdevice, std::string &why);

/// Runs LLVM's optimizer in place.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

std::string toPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace dlc::cuda

// SPDX-License-Identifier: Apache-2.0
// LLVM IR of kernels to PTX.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace dlc::cuda {

/// Links what `module` calls of libdevice, the file `libdevice`, and makes it
/// internal. Does nothing, and reads nothing, when it calls nothing of it. On
/// failure `why` names the function that is missing.
llvm::LogicalResult linkLibdevice(llvm::Module &module,
                                  llvm::StringRef libdevice, std::string &why);

/// LLVM's optimizer, in place.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

std::string toPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace dlc::cuda

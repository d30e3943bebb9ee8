// SPDX-License-Identifier: Apache-2.0
// Compiles LLVM IR to objects, and links objects to a shared object.
#pragma once

#include "compiler/target/cpu/codegen/CpuCodegen.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace dlc {

using ObjectBytes = llvm::SmallVector<char, 0>;

/// Runs LLVM's optimizer on `module` in place.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              unsigned optLevel);
/// False if the machine cannot emit objects.
bool compileToObject(llvm::Module &module, llvm::TargetMachine &machine,
                     ObjectBytes &object);

/// Links in process. The result depends only on the objects and their order. On
/// failure `why` has the linker's message.
llvm::LogicalResult linkSharedObject(llvm::ArrayRef<ObjectBytes> objects,
                                     llvm::SmallVectorImpl<char> &sharedObject,
                                     std::string &why);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// The GPUs that kernels can be compiled for.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace dlc::cuda {

/// A compute capability, and the PTX version that its code is written in.
struct Sm {
  int number; // 90
  int ptx;    // 80: PTX ISA 8.0

  std::string name() const { return "sm_" + std::to_string(number); }
};

/// `number` is as in --sm: "90". On failure `why` lists the supported ones.
llvm::FailureOr<Sm> findSm(llvm::StringRef number, std::string &why);
/// The newest SM whose code, at least as PTX, runs on a GPU of that capability;
/// 0: none.
int newestSmFor(int capability);

std::unique_ptr<llvm::TargetMachine> createTargetMachine(Sm sm);

} // namespace dlc::cuda

// SPDX-License-Identifier: Apache-2.0
// The parts of NVIDIA's CUDA Toolkit that compiling needs; none of it needs a
// GPU or a driver.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>
#include <vector>

namespace dlc::cuda {

struct Toolkit {
  std::string ptxas;     // the program
  std::string libdevice; // libdevice.10.bc; empty: not found
};

/// From `folder`, or if that is empty from the first of $CUDA_HOME and
/// $CUDA_PATH that is set; else beside the ptxas of $PATH or where the build
/// found one. On failure `why` says where ptxas was looked for and the way out.
llvm::FailureOr<Toolkit> findToolkit(llvm::StringRef folder, std::string &why);

/// What ptxas says of a kernel.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0;
  int64_t shared = 0;                       // bytes
  int64_t stack = 0, stores = 0, loads = 0; // bytes of local memory; spilled
};

struct Cubin {
  llvm::SmallVector<char> bytes;
  std::vector<KernelResources> resources;
};

/// PTX to machine code of `arch` ("sm_90"), by the program ptxas. On failure
/// `why` has its words.
llvm::FailureOr<Cubin> assemble(const Toolkit &toolkit, llvm::StringRef ptx,
                                llvm::StringRef arch, std::string &why);

} // namespace dlc::cuda

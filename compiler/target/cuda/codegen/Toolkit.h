// SPDX-License-Identifier: Apache-2.0
// The parts of NVIDIA's CUDA Toolkit that compilation needs; none needs a GPU
// or a driver.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>
#include <vector>

namespace dlc::cuda {

struct Toolkit {
  std::string ptxas;     // path of the program
  std::string libdevice; // libdevice.10.bc; empty: not found
};

/// Searches `folder`; if that is empty, the first of $CUDA_HOME and $CUDA_PATH
/// that is set; else the folder of the ptxas in $PATH or of the one found at
/// build time. On failure `why` says where ptxas was searched and what to do.
llvm::FailureOr<Toolkit> findToolkit(llvm::StringRef folder, std::string &why);

/// Resources of a kernel as ptxas reports them.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0;
  int64_t shared = 0;                       // bytes
  int64_t stack = 0, stores = 0, loads = 0; // bytes of local memory; of spills
};

struct Cubin {
  llvm::SmallVector<char> bytes;
  std::vector<KernelResources> resources;
};

/// Assembles PTX to machine code for `arch` ("sm_90") with ptxas. On failure
/// `why` has its message.
llvm::FailureOr<Cubin> assemble(const Toolkit &toolkit, llvm::StringRef ptx,
                                llvm::StringRef arch, std::string &why);

} // namespace dlc::cuda

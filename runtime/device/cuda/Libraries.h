// SPDX-License-Identifier: Apache-2.0
// The vendor's libraries of one GPU, each opened on first use.
#pragma once

#include "runtime/base/process/SharedLibrary.h"
#include "runtime/device/cuda/cublaslt/CublasLt.h"
#include "runtime/device/cuda/cudnn/Cudnn.h"
#include "runtime/device/cuda/driver/Context.h"

namespace dlc {

class Libraries {
public:
  explicit Libraries(const GpuContext &context) : context_(context) {}
  ~Libraries();

  struct Blas {
    std::shared_ptr<const CublasLt> functions;
    cublasLtHandle_t handle;
  };
  // A failed attempt returns the same error later.
  Result<Blas> cublasLt();
  Result<Cudnn *> cudnn();

private:
  Status openCublasLt();

  const GpuContext &context_;
  Blas blas_ = {};
  Status blasStatus_;
  std::unique_ptr<Cudnn> cudnn_;
  Status cudnnStatus_;
};

// Opens the library with which cuDNN compiles kernels of attention and norms at
// run time; cuDNN has no plan for attention without it. Incompatible if the
// loader does not find it.
Result<SharedLibrary> openNvrtc();

} // namespace dlc

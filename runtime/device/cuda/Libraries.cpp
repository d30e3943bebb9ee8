// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Libraries.h"

namespace dlc {

Libraries::~Libraries() {
  if (blas_.handle)
    blas_.functions->cublasLtDestroy(blas_.handle);
}

Status Libraries::openCublasLt() {
  DLC_ASSIGN(blas_.functions, CublasLt::open());
  DLC_TRY(context_.driver().checkLibrary(
      "cuBLASLt", blas_.functions->cublasLtGetCudartVersion(), true));
  DLC_TRY(context_.makeCurrent());
  return blas_.functions->check(blas_.functions->cublasLtCreate(&blas_.handle),
                                "cublasLtCreate");
}

Result<Cudnn *> Libraries::cudnn() {
  if (!cudnn_ && cudnnStatus_.ok()) {
    DLC_TRY(context_.makeCurrent());
    auto opened = openCudnn(context_.driver(), context_.properties().sm);
    cudnnStatus_ = opened.status();
    if (opened.ok())
      cudnn_ = *std::move(opened);
  }
  DLC_TRY(cudnnStatus_);
  return cudnn_.get();
}

Result<Libraries::Blas> Libraries::cublasLt() {
  if (!blas_.handle && blasStatus_.ok())
    blasStatus_ = openCublasLt();
  DLC_TRY(blasStatus_);
  return blas_;
}

Result<SharedLibrary> openNvrtc() {
  return SharedLibrary::open({"libnvrtc.so.13", "libnvrtc.so.12"},
                             "with which cuDNN compiles its kernels of "
                             "attention and norms");
}

} // namespace dlc

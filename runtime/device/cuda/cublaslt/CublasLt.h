// SPDX-License-Identifier: Apache-2.0
// cuBLASLt as a table of functions, opened at run time.
#pragma once

#include "runtime/base/process/SharedLibrary.h"

#include <cublasLt.h>

#include <memory>

namespace dlc {

#define DLC_CUBLASLT_FUNCTIONS(F)                                              \
  F(cublasLtGetCudartVersion)                                                  \
  F(cublasLtCreate)                                                            \
  F(cublasLtDestroy)                                                           \
  F(cublasLtGetStatusName)                                                     \
  F(cublasLtGetStatusString)                                                   \
  F(cublasLtMatmulDescCreate)                                                  \
  F(cublasLtMatmulDescDestroy)                                                 \
  F(cublasLtMatmulDescSetAttribute)                                            \
  F(cublasLtMatrixLayoutCreate)                                                \
  F(cublasLtMatrixLayoutDestroy)                                               \
  F(cublasLtMatrixLayoutSetAttribute)                                          \
  F(cublasLtMatmulPreferenceCreate)                                            \
  F(cublasLtMatmulPreferenceDestroy)                                           \
  F(cublasLtMatmulPreferenceSetAttribute)                                      \
  F(cublasLtMatmulAlgoCheck)                                                   \
  F(cublasLtMatmulAlgoGetHeuristic)                                            \
  F(cublasLtMatmul)

struct CublasLtFunctions {
#define DLC_FIELD(name) decltype(&::name) name = nullptr;
  DLC_CUBLASLT_FUNCTIONS(DLC_FIELD)
#undef DLC_FIELD
};

class CublasLt : public CublasLtFunctions {
public:
  // Opens libcublasLt.so of the major version that this was built with.
  // Incompatible when there is none or it lacks a function.
  static Result<std::shared_ptr<const CublasLt>> open();

  size_t version() const { return version_; } // 130100 for 13.1.0

  // "<action>: CUBLAS_STATUS_NAME: the library's text"
  Status check(cublasStatus_t result, std::string_view action) const;

private:
  size_t version_ = 0;
};

} // namespace dlc

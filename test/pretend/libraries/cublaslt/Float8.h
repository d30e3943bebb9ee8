// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit floats as the stand-in knows them: the library's rules for
// these, and what it computes.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace dlc::standin {

inline bool isFloat8(cudaDataType_t type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

// D [columns][rows] = scaleA scaleB A' B + bias, in the library's terms: A has
// `depth` x `rows` elements and B `depth` x `columns`, column-major.
struct Float8Product {
  cudaDataType_t typeA, typeB, typeD;
  cublasComputeType_t compute;
  cudaDataType_t scaleType;
  cublasOperation_t transA, transB;
  uint64_t rows, columns, depth;
  int32_t batch;
  const float *scaleA = nullptr, *scaleB = nullptr; // null: 1
  const void *bias = nullptr;                       // bf16, may be null
  bool hasOtherEpilogue = false;
};

// The library's answer to a product with an operand of 8-bit floats.
cublasStatus_t check(const Float8Product &product);

// a, b: codes; d: bf16.
void multiply(const Float8Product &product, const void *a, const void *b,
              void *d);

} // namespace dlc::standin

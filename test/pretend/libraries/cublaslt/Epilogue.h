// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's epilogues as the stand-in knows them: which operands each has, the
// rules for these, and what it computes.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <vector>

namespace dlc::standin {

// What a product's descriptor says beside its matrices. The library's bits:
// see cublasLtEpilogue_t.
struct Epilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  void *vector = nullptr; // bias, or where its gradient goes
  int vectorType = -1;    // cudaDataType_t; -1: that of the result
  void *aux = nullptr;
  int64_t auxLeading = 0;

  bool hasBias() const;
  bool keepsGelu() const; // its operand, in `aux`
  bool sumsA() const { return kind == CUBLASLT_EPILOGUE_BGRADA; }
  bool sumsB() const { return kind == CUBLASLT_EPILOGUE_BGRADB; }
  // Whether the product alone is not all: the CPU's matmul cannot do it.
  bool isOurs() const { return keepsGelu() || sumsA() || sumsB(); }
};

// The library's answer to this epilogue of a product whose result has `rows`
// rows in its columns, in `batch` matrices of `type`.
cublasStatus_t check(const Epilogue &epilogue, cublasOperation_t transA,
                     cublasOperation_t transB, int64_t rows, int32_t batch,
                     cudaDataType_t type);

// Bytes behind `aux` for so many columns.
uint64_t auxBytes(const Epilogue &epilogue, int64_t columns,
                  cudaDataType_t type);

// Elements as the library stores them.
double load(const void *data, cudaDataType_t type, int64_t index);
void store(void *data, cudaDataType_t type, int64_t index, double value);

// gelu of a product of `columns` columns with `rows` elements each, which is
// kept: `result` has a b (+ bias) in f32; d gets the rounded values.
void finish(const Epilogue &epilogue, const std::vector<float> &result,
            int64_t rows, int64_t columns, void *d, cudaDataType_t type);

// The sum of an operand over `depth` columns of `length` elements.
void sumColumns(const Epilogue &epilogue, const void *operand, int64_t length,
                int64_t depth, cudaDataType_t type);

} // namespace dlc::standin

// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cublaslt/Epilogue.h"
#include "runtime/base/numbers/DType.h"

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

namespace dlc::standin {
namespace {

constexpr int kBias = 4, kRelu = 2, kGelu = 32, kAux = 128;

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

// DLC_STANDIN_NO_EPILOGUE has the numbers of those that this library lacks.
bool isMissing(cublasLtEpilogue_t kind) {
  const char *all = std::getenv("DLC_STANDIN_NO_EPILOGUE");
  std::istringstream list(all ? all : "");
  for (std::string number; std::getline(list, number, ',');)
    if (number == std::to_string(static_cast<int>(kind)))
      return true;
  return false;
}

} // namespace

bool Epilogue::hasBias() const { return !sumsA() && !sumsB() && kind & kBias; }
bool Epilogue::keepsGelu() const { return kind & kAux && kind & kGelu; }

cublasStatus_t check(const Epilogue &e, cublasOperation_t transA,
                     cublasOperation_t transB, int64_t rows, int32_t batch,
                     cudaDataType_t type) {
  const bool hasVector = e.hasBias() || e.sumsA() || e.sumsB();
  if (hasVector &&
      (!e.vector || (e.isOurs() && e.vectorType != -1 && e.vectorType != type)))
    return CUBLAS_STATUS_INVALID_VALUE;
  // What relu keeps, and products with gradients of activations, are not asked
  // for: see compiler/target/cuda/Epilogues.cpp.
  constexpr int kKnown = kBias | kRelu | kGelu | kAux;
  if (!e.sumsA() && !e.sumsB() && e.kind != CUBLASLT_EPILOGUE_DEFAULT &&
      (e.kind & ~kKnown || (e.kind & kAux && !e.keepsGelu())))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (e.keepsGelu() && (!e.aux || reinterpret_cast<uintptr_t>(e.aux) % 16 ||
                        e.auxLeading < rows || e.auxLeading % 8))
    return CUBLAS_STATUS_INVALID_VALUE;
  // A's sums are over its columns as they are stored, and so are B's.
  const bool isTurned = (e.sumsA() && transA != CUBLAS_OP_N) ||
                        (e.sumsB() && transB == CUBLAS_OP_N);
  const bool isOther =
      e.kind != CUBLASLT_EPILOGUE_DEFAULT && e.kind != CUBLASLT_EPILOGUE_BIAS;
  if (isTurned || isMissing(e.kind) || (isOther && type == CUDA_R_64F) ||
      (e.isOurs() && batch != 1))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

uint64_t auxBytes(const Epilogue &e, int64_t columns, cudaDataType_t type) {
  return static_cast<uint64_t>(e.auxLeading * columns) *
         (type == CUDA_R_32F ? 4 : 2);
}

double load(const void *data, cudaDataType_t type, int64_t index) {
  if (type == CUDA_R_32F)
    return static_cast<const float *>(data)[index];
  const uint16_t half = static_cast<const uint16_t *>(data)[index];
  return type == CUDA_R_16F ? fromF16(half) : fromBf16(half);
}

void store(void *data, cudaDataType_t type, int64_t index, double value) {
  const auto f = static_cast<float>(value);
  if (type == CUDA_R_32F)
    static_cast<float *>(data)[index] = f;
  else
    static_cast<uint16_t *>(data)[index] =
        type == CUDA_R_16F ? toF16(f) : toBf16(f);
}

void finish(const Epilogue &e, const std::vector<float> &result, int64_t rows,
            int64_t columns, void *d, cudaDataType_t type) {
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      const double value = result[static_cast<size_t>(i * rows + j)];
      store(e.aux, type, i * e.auxLeading + j, value);
      store(d, type, i * rows + j, gelu(value));
    }
}

void sumColumns(const Epilogue &e, const void *operand, int64_t length,
                int64_t depth, cudaDataType_t type) {
  std::vector<double> sums(static_cast<size_t>(length));
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t i = 0; i < length; ++i)
      sums[static_cast<size_t>(i)] += load(operand, type, k * length + i);
  for (int64_t i = 0; i < length; ++i)
    store(e.vector, type, i, sums[static_cast<size_t>(i)]);
}

} // namespace dlc::standin

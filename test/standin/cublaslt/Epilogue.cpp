// SPDX-License-Identifier: Apache-2.0
#include "test/standin/cublaslt/Epilogue.h"
#include "runtime/base/numbers/DType.h"

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

namespace dlc::standin {
namespace {

constexpr int kBias = 4, kRelu = 2, kGelu = 32, kAux = 128;
constexpr int kSlopeOfRelu = 8, kSlopeOfGelu = 64, kSums = 16;

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
double slopeOfGelu(double x) {
  const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x);
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

// Which bit of which byte is an element's: its own choice, for nobody else
// reads it.
bool bitOf(const Epilogue &e, int64_t index) {
  return static_cast<uint8_t *>(e.aux)[index / 8] >> (7 - index % 8) & 1;
}
void setBit(const Epilogue &e, int64_t index, bool value) {
  uint8_t &byte = static_cast<uint8_t *>(e.aux)[index / 8];
  const auto bit = static_cast<uint8_t>(128 >> index % 8);
  byte = static_cast<uint8_t>(value ? byte | bit : byte & ~bit);
}

} // namespace

bool Epilogue::hasBias() const { return !sumsA() && !sumsB() && kind & kBias; }
bool Epilogue::isRelu() const { return kind & (kRelu | kSlopeOfRelu); }
bool Epilogue::isGelu() const { return kind & (kGelu | kSlopeOfGelu); }
bool Epilogue::isBackward() const {
  return kind & (kSlopeOfRelu | kSlopeOfGelu);
}
bool Epilogue::hasAux() const { return kind & kAux; }
bool Epilogue::sumsResult() const { return isBackward() && kind & kSums; }

cublasStatus_t check(const Epilogue &e, cublasOperation_t transA,
                     cublasOperation_t transB, int64_t rows, int32_t batch,
                     cudaDataType_t type) {
  const bool hasVector =
      e.hasBias() || e.sumsA() || e.sumsB() || e.sumsResult();
  if (hasVector &&
      (!e.vector || (e.isOurs() && e.vectorType != -1 && e.vectorType != type)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (e.hasAux()) {
    const int64_t unit = e.isRelu() ? 128 : 8;
    if (!e.aux || reinterpret_cast<uintptr_t>(e.aux) % 16 ||
        e.auxLeading < rows || e.auxLeading % unit)
      return CUBLAS_STATUS_INVALID_VALUE;
  }
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
  const auto all = static_cast<uint64_t>(e.auxLeading * columns);
  return e.isRelu() ? all / 8 : all * (type == CUDA_R_32F ? 4 : 2);
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
  std::vector<double> sums(static_cast<size_t>(rows));
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      double value = result[static_cast<size_t>(i * rows + j)];
      const int64_t at = i * e.auxLeading + j;
      if (e.isBackward()) {
        value = e.isGelu()     ? value * slopeOfGelu(load(e.aux, type, at))
                : bitOf(e, at) ? value
                               : 0;
        sums[static_cast<size_t>(j)] += value;
      } else if (e.isGelu()) {
        store(e.aux, type, at, value);
        value = gelu(value);
      } else if (e.isRelu()) {
        setBit(e, at, value > 0);
        value = value > 0 ? value : 0; // of NaN, too
      }
      store(d, type, i * rows + j, value);
    }
  if (e.sumsResult())
    for (int64_t j = 0; j < rows; ++j)
      store(e.vector, type, j, sums[static_cast<size_t>(j)]);
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

// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cublaslt/Float8.h"
#include "runtime/base/numbers/DType.h"

#include <cmath>

namespace dlc::standin {
namespace {

// OCP's 8-bit formats: E4M3 without infinities, E5M2 as IEEE would have it.
double valueOf(uint8_t code, cudaDataType_t type) {
  const bool isE4M3 = type == CUDA_R_8F_E4M3;
  const int mantissa = isE4M3 ? 3 : 2, bias = isE4M3 ? 7 : 15,
            exponent = (code & 0x7f) >> mantissa,
            fraction = code & ((1 << mantissa) - 1), highest = isE4M3 ? 15 : 31;
  double value = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                               : std::ldexp(fraction + (1 << mantissa),
                                            exponent - bias - mantissa);
  if (exponent == highest && (!isE4M3 || fraction == 7))
    value = !isE4M3 && fraction == 0 ? INFINITY : NAN;
  return code & 0x80 ? -value : value;
}

} // namespace

cublasStatus_t check(const Float8Product &p) {
  const bool isPair = isFloat8(p.typeA) && isFloat8(p.typeB) &&
                      !(p.typeA == CUDA_R_8F_E5M2 && p.typeB == p.typeA);
  const bool isTurned = p.transA != CUBLAS_OP_T || p.transB != CUBLAS_OP_N;
  const bool isUneven = p.rows % 16 || p.columns % 16 || p.depth % 16;
  // The library has more results and epilogues; these are what dlc asks for.
  if (!isPair || isTurned || isUneven || p.typeD != CUDA_R_16BF ||
      p.compute != CUBLAS_COMPUTE_32F || p.scaleType != CUDA_R_32F ||
      p.batch != 1 || p.hasOtherEpilogue)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

void multiply(const Float8Product &p, const void *a, const void *b, void *d) {
  const auto *const codesA = static_cast<const uint8_t *>(a);
  const auto *const codesB = static_cast<const uint8_t *>(b);
  const double scale =
      double(p.scaleA ? *p.scaleA : 1) * double(p.scaleB ? *p.scaleB : 1);
  double ofA[256], ofB[256];
  for (int code = 0; code < 256; ++code) {
    ofA[code] = valueOf(static_cast<uint8_t>(code), p.typeA);
    ofB[code] = valueOf(static_cast<uint8_t>(code), p.typeB);
  }
  for (uint64_t j = 0; j < p.columns; ++j)
    for (uint64_t i = 0; i < p.rows; ++i) {
      double sum = 0;
      for (uint64_t k = 0; k < p.depth; ++k)
        sum += ofA[codesA[i * p.depth + k]] * ofB[codesB[j * p.depth + k]];
      sum *= scale;
      if (p.bias)
        sum += double(fromBf16(static_cast<const uint16_t *>(p.bias)[i]));
      static_cast<uint16_t *>(d)[j * p.rows + i] =
          toBf16(static_cast<float>(sum));
    }
}

} // namespace dlc::standin

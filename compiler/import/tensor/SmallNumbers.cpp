#include "compiler/import/tensor/SmallNumbers.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dlc::import {
namespace {

using onnx::TensorProto;

constexpr SmallInteger kIntegers[] = {
    {TensorProto::INT8, 8, true},     {TensorProto::INT16, 16, true},
    {TensorProto::UINT16, 16, false}, {TensorProto::UINT32, 32, false},
    {TensorProto::INT4, 4, true},     {TensorProto::UINT4, 4, false},
    {TensorProto::INT2, 2, true},     {TensorProto::UINT2, 2, false}};

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr SmallFloat kFloats[] = {
    {TensorProto::FLOAT8E4M3FN, 8, 3, -6, 8, 448, kNoNumber, true, kNoNumber},
    {TensorProto::FLOAT8E4M3FNUZ, 8, 3, -7, 7, 240, kNoNumber, false,
     kNoNumber},
    {TensorProto::FLOAT8E5M2, 8, 2, -14, 15, 57344, kInfinite, true, kNoNumber},
    {TensorProto::FLOAT8E5M2FNUZ, 8, 2, -15, 15, 57344, kNoNumber, false,
     kNoNumber},
    {TensorProto::FLOAT4E2M1, 4, 1, 0, 2, 6, 6, true, 0}};

template <typename Row, size_t N>
const Row *find(const Row (&rows)[N], int type) {
  for (const Row &row : rows)
    if (row.type == type)
      return &row;
  return nullptr;
}

} // namespace

const SmallInteger *smallInteger(int onnxType) {
  return find(kIntegers, onnxType);
}

const SmallFloat *smallFloat(int onnxType) { return find(kFloats, onnxType); }

int64_t wrapTo(const SmallInteger &to, int64_t x) {
  const int64_t range = int64_t(1) << to.bits;
  const int64_t low = x & (range - 1);
  return to.isSigned && low >= range / 2 ? low - range : low;
}

double roundTo(const SmallFloat &to, double x, bool saturate) {
  if (std::isnan(x))
    return to.ofNan;
  const double size = std::fabs(x);
  const int exponent = size > 0 ? std::max(std::ilogb(size), to.lowest) : 0;
  const double step = std::ldexp(1.0, exponent - to.digits);
  double y = std::isinf(size) ? size : std::nearbyint(size / step) * step;
  if (y > to.most)
    y = saturate ? to.most : to.tooMuch;
  if (y == 0 && !to.hasNegativeZero)
    return 0;
  return std::copysign(y, x);
}

float roundToPower(float x, PowerRounding rounding, bool saturate) {
  const float least = 0x1p-127f, most = 0x1p127f;
  x = std::fabs(x);
  if (std::isnan(x))
    return x;
  if (x < least || x > most)
    return !saturate ? std::nanf("") : x < least ? least : most;
  const float below = std::ldexp(1.0f, std::ilogb(x));
  const bool isUp = rounding == PowerRounding::Up ? x > below
                    : rounding == PowerRounding::Nearest
                        ? x - below >= below / 2
                        : false;
  return isUp ? below * 2 : below;
}

} // namespace dlc::import

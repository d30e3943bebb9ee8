// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/numbers/Packed.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dlc::import {
namespace {

using Type = onnx::TensorProto;

struct Held {
  int onnxType;
  DType dtype;
  bool isNarrow = false; // narrower, or unsigned
};

constexpr Held kHeld[] = {
    {Type::FLOAT, DType::F32},
    {Type::FLOAT16, DType::F16},
    {Type::BFLOAT16, DType::BF16},
    {Type::DOUBLE, DType::F64},
    {Type::INT64, DType::I64},
    {Type::INT32, DType::I32},
    {Type::UINT8, DType::U8},
    {Type::BOOL, DType::Bool},
    {Type::INT2, DType::I32, true},
    {Type::UINT2, DType::I32, true},
    {Type::INT4, DType::I32, true},
    {Type::UINT4, DType::I32, true},
    {Type::INT8, DType::I32, true},
    {Type::INT16, DType::I32, true},
    {Type::UINT16, DType::I32, true},
    {Type::UINT32, DType::I64, true},
    {Type::UINT64, DType::I64, true},
    {Type::FLOAT8E4M3FN, DType::F32, true},
    {Type::FLOAT8E4M3FNUZ, DType::F32, true},
    {Type::FLOAT8E5M2, DType::F32, true},
    {Type::FLOAT8E5M2FNUZ, DType::F32, true},
    {Type::FLOAT8E8M0, DType::F32, true},
    {Type::FLOAT4E2M1, DType::F32, true},
};

const Held *heldAs(int onnxType) {
  const auto *found = std::ranges::find(kHeld, onnxType, &Held::onnxType);
  return found == std::end(kHeld) ? nullptr : found;
}

using onnx::TensorProto;

/// Unpacked types; the others are in runtime/base/numbers/Packed.h.
constexpr SmallInteger kWhole[] = {{TensorProto::INT8, 8, true},
                                   {TensorProto::INT16, 16, true},
                                   {TensorProto::UINT16, 16, false},
                                   {TensorProto::UINT32, 32, false}};

constexpr int kTypes = 32; // more than TensorProto::DataType has

SmallFloat floatOf(int onnxType, const Packed &p) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double most = 0;
  for (float value : valuesOf(p))
    if (std::isfinite(value))
      most = std::max(most, double(value));
  const bool hasNan = p.hasInfinity || p.hasNan || p.hasOneZero;
  const double tooMuch = p.hasInfinity ? std::numeric_limits<double>::infinity()
                         : hasNan      ? kNone
                                       : most;
  return {onnxType, p.bits,  p.digits,      1 - p.bias,        std::ilogb(most),
          most,     tooMuch, !p.hasOneZero, hasNan ? kNone : 0};
}

struct Table {
  std::vector<SmallInteger> integers{std::begin(kWhole), std::end(kWhole)};
  std::vector<SmallFloat> floats;

  Table() {
    for (int type = 0; type < kTypes; ++type)
      if (const Packed *p = findPacked(onnxTypeName(type)); p && !p->isFloat)
        integers.push_back({type, p->bits, p->isSigned});
      else if (p && p->isSigned) // FLOAT8E8M0 has its own rounding
        floats.push_back(floatOf(type, *p));
  }
};
const Table &table() {
  static const Table made;
  return made;
}
template <typename Row>
const Row *find(const std::vector<Row> &rows, int type) {
  for (const Row &row : rows)
    if (row.type == type)
      return &row;
  return nullptr;
}

} // namespace

bool isNarrow(int onnxType) {
  const Held *held = heldAs(onnxType);
  return held && held->isNarrow;
}

std::optional<DType> toDType(int onnxType) {
  const Held *held = heldAs(onnxType);
  return held ? std::optional(held->dtype) : std::nullopt;
}

int toOnnxType(DType type) { // the first is not narrow
  return std::ranges::find(kHeld, type, &Held::dtype)->onnxType;
}

std::string onnxTypeName(int onnxType) {
  if (onnx::TensorProto::DataType_IsValid(onnxType))
    return onnx::TensorProto::DataType_Name(
        static_cast<onnx::TensorProto::DataType>(onnxType));
  return "type " + std::to_string(onnxType);
}

const SmallInteger *smallInteger(int onnxType) {
  return find(table().integers, onnxType);
}

const SmallFloat *smallFloat(int onnxType) {
  return find(table().floats, onnxType);
}

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

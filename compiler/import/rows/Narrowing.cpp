// SPDX-License-Identifier: Apache-2.0
// Wraps or rounds values to a type that is stored in a wider one.
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <cmath>

using namespace mlir;

namespace dlc::import {
namespace {

using onnx::TensorProto;

/// (x + half) mod range - half
Expr wrapped(const SmallInteger &to, Expr x) {
  const double range = std::ldexp(1.0, to.bits);
  const double half = to.isSigned ? range / 2 : 0;
  Expr low = both(half ? x + half : x, x.scalar(range - 1));
  return half ? low - half : low;
}

Expr straightRound(Expr x) {
  Expr y = round(x);
  y.v.getDefiningOp()->setAttr(ir::kStraightThrough,
                               UnitAttr::get(y.v.getContext()));
  return y;
}

/// Like roundTo; the quantum is selected by comparisons, so it is exact.
Expr rounded(const SmallFloat &to, Expr x, bool saturate) {
  Expr size = abs(x);
  Expr step = x.scalar(std::ldexp(1.0, to.lowest - to.digits));
  for (int e = to.lowest + 1; e <= to.highest + 1; ++e)
    step = select(size >= std::ldexp(1.0, e), std::ldexp(1.0, e - to.digits),
                  step);
  Expr y = straightRound(x / step) * step;
  const double excess = saturate ? to.most : to.tooMuch;
  Expr bounded = select(y > to.most, excess, y);
  bounded = select(y < -to.most, -excess, bounded);
  if (!to.hasNegativeZero)
    bounded = select(y == 0, 0, bounded);
  return select(x == x, bounded, to.ofNan);
}

Result<PowerRounding> powerRounding(const Node &n) {
  const std::string mode = n.text("round_mode", "up");
  if (mode == "up")
    return PowerRounding::Up;
  if (mode == "down")
    return PowerRounding::Down;
  if (mode == "nearest")
    return PowerRounding::Nearest;
  return badModel("round_mode is '{}', expected up, down or nearest", mode);
}

/// Like roundToPower: scales |x| to [1, 2) by powers of two, which is exact.
Expr roundedToPower(Expr x, PowerRounding rounding, bool saturate) {
  Expr size = abs(x), rest = size, power = x.scalar(1);
  auto scale = [&](Expr condition, int exponent) {
    auto scaled = [&](Expr y, int by) {
      return select(condition, y * std::ldexp(1.0, by), y);
    };
    power = scaled(power, exponent);
    rest = scaled(rest, -exponent);
  };
  for (int e = 64; e; e /= 2)
    scale(rest >= std::ldexp(1.0, e), e);
  for (int e = 64; e; e /= 2)
    scale(rest < std::ldexp(1.0, 1 - e), -e);
  Expr y = power;
  if (rounding == PowerRounding::Up)
    y = select(rest > 1, y * 2, y);
  else if (rounding == PowerRounding::Nearest)
    y = select(rest >= 1.5, y * 2, y);
  // Rounding has gradient 1. The difference is exact, since the numbers differ
  // by at most a factor of two.
  y = size + y.make<ir::StopGradientOp>((y - size).v);
  const double least = 0x1p-127, most = 0x1p127;
  y = select(size < least, saturate ? least : NAN, y);
  y = select(size > most, saturate ? most : NAN, y);
  return select(x == x, y, NAN);
}

} // namespace

Value narrowed(const Node &n, Value x, int onnxType, bool saturate) {
  if (!x)
    return nullptr;
  if (const SmallInteger *to = smallInteger(onnxType))
    return wrapped(*to, n.expr(x));
  if (const SmallFloat *to = smallFloat(onnxType))
    return rounded(*to, n.expr(x), saturate);
  if (onnxType != TensorProto::FLOAT8E8M0)
    return x;
  auto rounding = n.checked(powerRounding(n));
  return succeeded(rounding) ? roundedToPower(n.expr(x), *rounding, saturate).v
                             : Value();
}

Result<HostTensor> narrowed(const Node &n, const HostTensor &x, int onnxType,
                            bool saturate) {
  const SmallInteger *integer = smallInteger(onnxType);
  const SmallFloat *small = smallFloat(onnxType);
  if (!integer && !small && onnxType != TensorProto::FLOAT8E8M0)
    return x;
  PowerRounding rounding = PowerRounding::Up;
  if (onnxType == TensorProto::FLOAT8E8M0) {
    DLC_ASSIGN(rounding, powerRounding(n));
  }
  HostCall call{n, {&x}, n.table.budget()};
  DLC_ASSIGN(HostTensor y, call.make(x.dtype, x.shape));
  for (int64_t i = 0, count = x.elements(); i < count; ++i)
    if (integer)
      y.setInteger(i, wrapTo(*integer, x.integer(i)));
    else if (small)
      y.setNumber(i, roundTo(*small, x.number(i), saturate));
    else
      y.setNumber(i, roundToPower(float(x.number(i)), rounding, saturate));
  return y;
}

} // namespace dlc::import

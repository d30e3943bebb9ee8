// SPDX-License-Identifier: Apache-2.0
#include "compiler/reference/Interpreter.h"
#include "compiler/reference/Scalars.h"
#include "runtime/base/numbers/FloatCast.h"
#include <algorithm>
#include <bit>
#include <cmath>

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

double gelu(double x, bool tanhForm) {
  if (!tanhForm)
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  const double k = std::sqrt(2 / M_PI);
  return 0.5 * x * (1 + std::tanh(k * (x + 0.044715 * x * x * x)));
}

double geluSlope(double x, bool tanhForm) {
  if (!tanhForm)
    return 0.5 * std::erfc(-x / std::sqrt(2.0)) +
           x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
  const double k = std::sqrt(2 / M_PI);
  const double t = std::tanh(k * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
}

double convert(double x, Type to) {
  if (to.isInteger(1))
    return x != 0;
  return isa<IntegerType>(to) ? std::trunc(x) : x;
}

/// Reinterprets an integer's bits, or a float's as an integer; 64-bit integers
/// must be exact in f64.
double sameBits(double x, Type from, Type to) {
  if (from.isF64())
    return double(std::bit_cast<int64_t>(x));
  if (from.isF32())
    return std::bit_cast<int32_t>(float(x));
  if (from.isF16() || from.isBF16())
    return from.isF16() ? toF16(float(x)) : toBf16(float(x));
  const auto bits = int64_t(x);
  if (to.isF64())
    return std::bit_cast<double>(bits);
  if (to.isF32())
    return std::bit_cast<float>(int32_t(bits));
  return to.isF16() ? fromF16(uint16_t(bits)) : fromBf16(uint16_t(bits));
}

/// As defined in its paper: midpoints of evenly spaced boundaries.
std::vector<double> dynamicMap(bool nonNegative) {
  std::vector<double> values{0, 1};
  for (int decade = 0; decade < 7; ++decade) {
    const int parts = 1 << (decade + nonNegative);
    for (int part = 0; part < parts; ++part) {
      const double middle = 0.1 + 0.9 * (part + 0.5) / parts;
      values.push_back(std::pow(10, decade - 6) * middle);
      if (!nonNegative)
        values.push_back(-values.back());
    }
  }
  std::ranges::sort(values);
  return values;
}

double nearestCode(const std::vector<double> &map, double x) {
  const auto distance = [x = std::isnan(x) ? 0 : x](double value) {
    return std::fabs(x - value);
  };
  return double(std::ranges::min_element(map, {}, distance) - map.begin());
}

using Function = std::function<double(const double *)>;

/// Integer arithmetic if all operands are integers.
Function functionOf(const Scalar &scalar, Operation *op) {
  bool isInteger = llvm::none_of(op->getOperandTypes(), [](Type t) {
    return isa<FloatType>(getElementTypeOrSelf(t));
  });
  if (!scalar.onFloats || (isInteger && scalar.onInts))
    return [f = scalar.onInts, n = op->getNumOperands()](const double *x) {
      int64_t ints[3] = {};
      bool defined = true;
      for (unsigned k = 0; k < n; ++k)
        ints[k] = int64_t(x[k]);
      return double(f(ints, defined));
    };
  return scalar.onFloats;
}

Function functionOf(Operation *op) {
  if (isa<StopGradientOp, ScaleGradientOp>(op))
    return [](const double *v) { return v[0]; };
  if (auto form = dyn_cast<GeluOp>(op))
    return
        [isTanh = form.getTanh()](const double *v) { return gelu(*v, isTanh); };
  if (auto slope = dyn_cast<GeluBackwardOp>(op))
    return [isTanh = slope.getTanh()](const double *v) {
      return v[0] * geluSlope(v[1], isTanh);
    };
  if (auto cast = dyn_cast<CastOp>(op))
    return [to = elementType(cast.getY())](const double *v) {
      return convert(*v, to);
    };
  if (auto cast = dyn_cast<BitCastOp>(op))
    return [from = elementType(cast.getX()), to = elementType(cast.getY())](
               const double *v) { return sameBits(*v, from, to); };
  if (auto encode = dyn_cast<DynamicEncodeOp>(op))
    return [map = dynamicMap(encode.getNonNegative())](const double *v) {
      return nearestCode(map, *v);
    };
  if (auto decode = dyn_cast<DynamicDecodeOp>(op))
    return [map = dynamicMap(decode.getNonNegative())](const double *v) {
      return map[size_t(*v)];
    };
  StringRef name = op->getName().stripDialect();
  if (auto c = dyn_cast<CompareOp>(op))
    name = stringifyPredicate(c.getPredicate());
  const Scalar *scalar = scalarOf(std::string_view(name.data(), name.size()));
  return scalar ? functionOf(*scalar, op) : nullptr;
}

} // namespace

std::optional<Tensors> runElementwise(Operation *op, const Tensors &x) {
  Function f = functionOf(op);
  if (!f)
    return std::nullopt;
  Tensor y(tensorType(op->getResult(0)).getShape());
  forEach(y.shape, [&](const Shape &i) {
    double v[3];
    for (size_t k = 0; k < x.size(); ++k)
      v[k] = x[k].at(i);
    y.at(i) = f(v);
  });
  return Tensors{y};
}

} // namespace dlc::reference

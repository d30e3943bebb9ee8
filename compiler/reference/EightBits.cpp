// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/float8/Float8.h"
#include "compiler/reference/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

/// By the definition: sign, exponent and mantissa.
double valueOf(const Float8Format &f, int code) {
  const int size = code & 0x7f, exponent = size >> f.mantissa,
            fraction = size & ((1 << f.mantissa) - 1);
  double value = NAN;
  if (size <= f.largestCode)
    value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.mantissa)
                          : std::ldexp((1 << f.mantissa) + fraction,
                                       exponent - f.bias - f.mantissa);
  else if (f.name == "e5m2" && fraction == 0)
    value = INFINITY;
  return code & 0x80 ? -value : value;
}

/// Searches all values; of two at one distance the even code is nearest.
double nearestCode(const Float8Format &f, double x) {
  if (std::isnan(x))
    return 0x7f;
  const double size = std::min(std::fabs(x), f.largest);
  int best = 0;
  for (int code = 1; code <= f.largestCode; ++code) {
    const double before = std::fabs(valueOf(f, best) - size),
                 now = std::fabs(valueOf(f, code) - size);
    if (now < before || (now == before && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(x) ? 0x80 : 0);
}

template <class F> Tensors map(const Tensor &x, F f) {
  Tensor y(x.shape);
  for (size_t i = 0; i < x.data.size(); ++i)
    y.data[i] = f(x.data[i]);
  return {y};
}

Tensors scaledMatmul(ScaledMatmulOp op, const Tensors &in) {
  const auto values = [](StringRef format, const Tensor &codes) {
    return map(codes, [&f = *float8Format(format)](double code) {
      return valueOf(f, int(code));
    })[0];
  };
  const Tensor a = values(op.getFormatA(), in[0]),
               b = values(op.getFormatB(), in[1]);
  const double scale = in[2].data[0] * in[3].data[0];
  const int64_t depth = a.shape[1];
  Tensor y(tensorType(op.getY()).getShape());
  forEach(y.shape, [&](const Shape &at) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += a.data[at[0] * depth + k] * b.data[at[1] * depth + k];
    y.at(at) = scale * sum + (op.getBias() ? in[4].data[at[1]] : 0);
  });
  return {y};
}

} // namespace

std::optional<Tensors> runFloat8(Operation *op, const Tensors &x) {
  using R = std::optional<Tensors>;
  return llvm::TypeSwitch<Operation *, R>(op)
      .Case([&](Float8EncodeOp o) {
        const Float8Format &f = *float8Format(o.getFormat());
        return R(map(x[0], [&](double v) { return nearestCode(f, v); }));
      })
      .Case([&](Float8DecodeOp o) {
        const Float8Format &f = *float8Format(o.getFormat());
        return R(map(x[0], [&](double v) { return valueOf(f, int(v)); }));
      })
      .Case([&](ScaledMatmulOp o) { return R(scaledMatmul(o, x)); })
      .Default(R());
}

} // namespace dlc::reference

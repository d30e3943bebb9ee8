// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients, one query at a time.
#include "compiler/reference/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

template <class OpTy> class Attention {
public:
  Attention(OpTy op, const Tensor &q, const Tensor &k, const Tensor *mask)
      : dims(AttentionDims::of(op)), op(op), q(q), k(k), mask(mask),
        swapped(op.getLayout() == "bthd") {}

  Shape at(int64_t b, int64_t h, int64_t t, int64_t d) const {
    return swapped ? Shape{b, t, h, d} : Shape{b, h, t, d};
  }
  /// -inf if the query does not attend to the key.
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double s = 0;
    for (int64_t d = 0; d < dims.depth; ++d)
      s += q.at(at(b, h, i, d)) * k.at(at(b, h, j, d));
    s *= op.getScale().convertToDouble();
    if (dims.causal && j > i)
      s = -INFINITY;
    if (!mask)
      return s;
    double m = mask->at(Shape{b, h, i, j});
    bool isBool = elementType(op.getMask()).isInteger(1);
    return isBool ? (m != 0 ? s : -INFINITY) : s + m;
  }
  template <class F> void forEachQuery(F f) const {
    for (int64_t b = 0; b < dims.batch; ++b)
      for (int64_t h = 0; h < dims.heads; ++h)
        for (int64_t i = 0; i < dims.queries; ++i)
          f(b, h, i);
  }

  const AttentionDims dims;

private:
  mutable OpTy op; // its getters are not const
  const Tensor &q, &k;
  const Tensor *mask;
  const bool swapped;
};

Tensors forward(AttentionOp op, const Tensors &t) {
  Attention a(op, t[0], t[1], op.getMask() ? &t[3] : nullptr);
  Tensor y(tensorType(op.getY()).getShape()),
      lse(tensorType(op.getLse()).getShape(), INFINITY);
  a.forEachQuery([&](int64_t b, int64_t h, int64_t i) {
    std::vector<double> s;
    for (int64_t j = 0; j < a.dims.keys; ++j)
      s.push_back(a.score(b, h, i, j));
    double max = *std::max_element(s.begin(), s.end()), sum = 0;
    if (max == -INFINITY)
      return;
    for (double &x : s)
      sum += x = std::exp(x - max);
    lse.at(Shape{b, h, i, 0}) = max + std::log(sum);
    for (int64_t d = 0; d < a.dims.valueDepth; ++d)
      for (int64_t j = 0; j < a.dims.keys; ++j)
        y.at(a.at(b, h, i, d)) += s[j] / sum * t[2].at(a.at(b, h, j, d));
  });
  return {y, lse};
}

Tensors backward(AttentionBackwardOp op, const Tensors &t) {
  const Tensor &dy = t[0], &q = t[1], &k = t[2], &v = t[3], &y = t[4];
  Attention a(op, q, k, op.getMask() ? &t[6] : nullptr);
  Tensor dq(q.shape), dk(k.shape), dv(v.shape);
  double scale = op.getScale().convertToDouble();
  a.forEachQuery([&](int64_t b, int64_t h, int64_t i) {
    double lse = t[5].at(Shape{b, h, i, 0});
    for (int64_t j = 0; j < a.dims.keys; ++j) {
      double p = std::exp(a.score(b, h, i, j) - lse), dp = 0;
      for (int64_t d = 0; d < a.dims.valueDepth; ++d) {
        double g = dy.at(a.at(b, h, i, d));
        dp += g * (v.at(a.at(b, h, j, d)) - y.at(a.at(b, h, i, d)));
        dv.at(a.at(b, h, j, d)) += p * g;
      }
      for (int64_t d = 0; d < a.dims.depth; ++d) {
        dq.at(a.at(b, h, i, d)) += scale * p * dp * k.at(a.at(b, h, j, d));
        dk.at(a.at(b, h, j, d)) += scale * p * dp * q.at(a.at(b, h, i, d));
      }
    }
  });
  return {dq, dk, dv};
}

} // namespace

std::optional<Tensors> runAttention(Operation *op, const Tensors &x) {
  return llvm::TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](AttentionOp o) { return forward(o, x); })
      .Case([&](AttentionBackwardOp o) { return backward(o, x); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace dlc::reference

// SPDX-License-Identifier: Apache-2.0
// Norms, softmax and cross entropy, by textbook formulas.
#include "compiler/reference/Interpreter.h"
#include "runtime/base/numbers/Sliding.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

/// Groups element indices by `key`.
template <class Key>
std::vector<std::vector<int64_t>> groups(const Tensor &x, int64_t n, Key key) {
  std::vector<std::vector<int64_t>> found(n);
  int64_t flat = 0;
  forEach(x.shape, [&](const Shape &i) { found[key(i)].push_back(flat++); });
  return found;
}
auto lines(const Tensor &x, int64_t axis) {
  Shape outer = x.shape;
  outer[axis] = 1;
  return groups(x, Tensor::count(outer), [=](const Shape &i) {
    int64_t k = 0;
    for (size_t d = 0; d < outer.size(); ++d)
      k = k * outer[d] + ((int64_t)d == axis ? 0 : i[d]);
    return k;
  });
}
auto channels(const Tensor &x, StringRef layout) {
  const int64_t channel = ImageDims(x.rank(), layout).channel();
  return groups(x, x.shape[channel],
                [=](const Shape &i) { return i[channel]; });
}

template <class F> double sumOf(const std::vector<int64_t> &at, F f) {
  double sum = 0;
  for (int64_t i : at)
    sum += f(i);
  return sum;
}
struct Moments {
  double mean, variance;
  Moments(const Tensor &x, const std::vector<int64_t> &at) {
    mean = sumOf(at, [&](int64_t i) { return x.data[i]; }) / at.size();
    variance = sumOf(at,
                     [&](int64_t i) {
                       return (x.data[i] - mean) * (x.data[i] - mean);
                     }) /
               at.size();
  }
};
double logSumExp(const Tensor &x, const std::vector<int64_t> &at) {
  double max = -INFINITY;
  for (int64_t i : at)
    max = std::fmax(max, x.data[i]);
  return max + std::log(sumOf(
                   at, [&](int64_t i) { return std::exp(x.data[i] - max); }));
}

Tensors softmax(const Tensor &x, int64_t axis, bool logarithm) {
  Tensor y(x.shape);
  for (auto &line : lines(x, axis)) {
    double lse = logSumExp(x, line);
    for (int64_t i : line)
      y.data[i] = logarithm ? x.data[i] - lse : std::exp(x.data[i] - lse);
  }
  return {y};
}
Tensors softmaxBackward(const Tensor &dy, const Tensor &y, int64_t axis,
                        bool logarithm) {
  Tensor dx(y.shape);
  for (auto &line : lines(y, axis)) {
    double sum = sumOf(line, [&](int64_t i) {
      return logarithm ? dy.data[i] : dy.data[i] * y.data[i];
    });
    for (int64_t i : line)
      dx.data[i] = logarithm ? dy.data[i] - std::exp(y.data[i]) * sum
                             : y.data[i] * (dy.data[i] - sum);
  }
  return {dx};
}

Tensors batchNorm(BatchNormOp op, const Tensors &t) {
  const Tensor &x = t[0];
  double momentum = op.getMomentum().convertToDouble();
  Tensor y(x.shape), mean = t[3], var = t[4], savedMean = mean, savedVar = var;
  for (auto [c, at] : llvm::enumerate(channels(x, op.getLayout()))) {
    Moments m(x, at);
    double n = at.size();
    double rstd = 1 / std::sqrt(m.variance + op.getEpsilon().convertToDouble());
    for (int64_t i : at)
      y.data[i] = (x.data[i] - m.mean) * rstd * t[1].data[c] + t[2].data[c];
    double running = op.getUnbiased() ? m.variance * n / (n - 1) : m.variance;
    mean.data[c] = mean.data[c] * momentum + m.mean * (1 - momentum);
    var.data[c] = var.data[c] * momentum + running * (1 - momentum);
    savedMean.data[c] = m.mean;
    savedVar.data[c] = m.variance;
  }
  return {y, mean, var, savedMean, savedVar};
}
Tensors batchNormBackward(BatchNormBackwardOp op, const Tensors &t) {
  const Tensor &dy = t[0], &x = t[1];
  Tensor dx(x.shape), dscale(t[2].shape), dbias(t[2].shape);
  for (auto [c, at] : llvm::enumerate(channels(x, op.getLayout()))) {
    double mean = t[3].data[c], n = at.size();
    double rstd =
        1 / std::sqrt(t[4].data[c] + op.getEpsilon().convertToDouble());
    auto xhat = [&](int64_t i) { return (x.data[i] - mean) * rstd; };
    double sum = sumOf(at, [&](int64_t i) { return dy.data[i]; });
    double dot = sumOf(at, [&](int64_t i) { return dy.data[i] * xhat(i); });
    for (int64_t i : at)
      dx.data[i] =
          t[2].data[c] * rstd * (dy.data[i] - sum / n - xhat(i) * dot / n);
    dscale.data[c] = dot;
    dbias.data[c] = sum;
  }
  return {dx, dscale, dbias};
}
Tensors batchNormInfer(BatchNormInferOp op, const Tensors &t) {
  Tensor y(t[0].shape);
  for (auto [c, at] : llvm::enumerate(channels(y, op.getLayout())))
    for (int64_t i : at)
      y.data[i] =
          (t[0].data[i] - t[3].data[c]) /
              std::sqrt(t[4].data[c] + op.getEpsilon().convertToDouble()) *
              t[1].data[c] +
          t[2].data[c];
  return {y};
}

/// Rows of the dimensions from `axis` on.
auto rows(const Tensor &x, int64_t axis) {
  int64_t outer = Tensor::count(ir::Ints(x.shape).take_front(axis));
  return groups(x, outer,
                [&, n = int64_t(0),
                 size = (int64_t)x.data.size() / std::max<int64_t>(1, outer)](
                    const Shape &) mutable { return n++ / size; });
}
Tensors layerNorm(LayerNormOp op, const Tensors &t) {
  const Tensor &x = t[0];
  Tensor y(x.shape), mean(tensorType(op.getMean()).getShape()), rstd = mean;
  for (auto [r, at] : llvm::enumerate(rows(x, op.getAxis()))) {
    Moments m(x, at);
    double k = 1 / std::sqrt(m.variance + op.getEpsilon().convertToDouble());
    for (auto [j, i] : llvm::enumerate(at))
      y.data[i] = (x.data[i] - m.mean) * k * t[1].data[j] + t[2].data[j];
    mean.data[r] = m.mean;
    rstd.data[r] = k;
  }
  return {y, mean, rstd};
}
Tensors layerNormBackward(LayerNormBackwardOp op, const Tensors &t) {
  const Tensor &dy = t[0], &x = t[1], &scale = t[2];
  Tensor dx(x.shape), dscale(scale.shape), dbias(scale.shape);
  for (auto [r, at] : llvm::enumerate(rows(x, op.getAxis()))) {
    double mean = t[3].data[r], rstd = t[4].data[r], sum = 0, dot = 0;
    for (auto [j, i] : llvm::enumerate(at)) {
      double xhat = (x.data[i] - mean) * rstd, g = dy.data[i] * scale.data[j];
      sum += g;
      dot += g * xhat;
      dscale.data[j] += dy.data[i] * xhat;
      dbias.data[j] += dy.data[i];
    }
    for (auto [j, i] : llvm::enumerate(at)) {
      double xhat = (x.data[i] - mean) * rstd, g = dy.data[i] * scale.data[j];
      dx.data[i] = rstd * (g - sum / at.size() - xhat * dot / at.size());
    }
  }
  return {dx, dscale, dbias};
}

Tensors crossEntropy(SoftmaxCrossEntropyOp op, const Tensors &t) {
  Tensor loss(t[1].shape), lse(t[1].shape);
  for (auto [r, at] : llvm::enumerate(lines(t[0], 1))) {
    int64_t label = t[1].data[r];
    lse.data[r] = logSumExp(t[0], at);
    if (op.getIgnoreIndex() != label)
      loss.data[r] = lse.data[r] - t[0].data[at[label]];
  }
  return {loss, lse};
}
Tensors crossEntropyBackward(SoftmaxCrossEntropyBackwardOp op,
                             const Tensors &t) {
  const Tensor &dloss = t[0], &x = t[1], &labels = t[2];
  Tensor dx(x.shape);
  for (auto [r, at] : llvm::enumerate(lines(x, 1))) {
    int64_t label = labels.data[r];
    if (op.getIgnoreIndex() == label)
      continue;
    for (auto [c, i] : llvm::enumerate(at))
      dx.data[i] =
          (std::exp(x.data[i] - t[3].data[r]) - ((int64_t)c == label)) *
          dloss.data[r];
  }
  return {dx};
}

} // namespace

std::optional<Tensors> runNorm(Operation *op, const Tensors &x) {
  using R = std::optional<Tensors>;
  return llvm::TypeSwitch<Operation *, R>(op)
      .Case<SoftmaxOp, LogSoftmaxOp>([&](auto o) {
        return R(softmax(x[0], o.getAxis(), isa<LogSoftmaxOp>(op)));
      })
      .Case<SoftmaxBackwardOp, LogSoftmaxBackwardOp>([&](auto o) {
        return R(softmaxBackward(x[0], x[1], o.getAxis(),
                                 isa<LogSoftmaxBackwardOp>(op)));
      })
      .Case<BatchNormOp>([&](auto o) { return R(batchNorm(o, x)); })
      .Case<BatchNormBackwardOp>(
          [&](auto o) { return R(batchNormBackward(o, x)); })
      .Case<BatchNormInferOp>([&](auto o) { return R(batchNormInfer(o, x)); })
      .Case<LayerNormOp>([&](auto o) { return R(layerNorm(o, x)); })
      .Case<LayerNormBackwardOp>(
          [&](auto o) { return R(layerNormBackward(o, x)); })
      .Case<SoftmaxCrossEntropyOp>(
          [&](auto o) { return R(crossEntropy(o, x)); })
      .Case<SoftmaxCrossEntropyBackwardOp>(
          [&](auto o) { return R(crossEntropyBackward(o, x)); })
      .Default(R());
}

} // namespace dlc::reference

// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and their gradients, one number at a time.
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/reference/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// Iterates over the steps of a layer in the order in which they run.
template <class OpTy> class Walk {
public:
  /// `perStep` is [T, B, H].
  Walk(OpTy op, const Tensor &perStep, const Tensor *valid)
      : reverse(op.getReverse()), valid(valid), steps(perStep.shape[0]),
        rows(perStep.shape[1]), units(perStep.shape[2]) {}

  /// Calls f(t, row) in the layer's order, or in reverse.
  template <class F> void run(bool back, F f) const {
    for (int64_t i = 0; i < steps; ++i)
      for (int64_t b = 0; b < rows; ++b)
        f(reverse != back ? steps - 1 - i : i, b);
  }
  bool counts(int64_t t, int64_t b) const {
    return !valid || valid->at(Shape{t, b}) != 0;
  }
  /// The state before step t.
  double before(const Tensor &states, const Tensor &first, int64_t t, int64_t b,
                int64_t j) const {
    const int64_t last = reverse ? t + 1 : t - 1;
    return last < 0 || last >= steps ? first.at(Shape{b, j})
                                     : states.at(Shape{last, b, j});
  }
  /// Row `row` of r times the state before step t.
  double product(const Tensor &r, const Tensor &states, const Tensor &first,
                 int64_t row, int64_t t, int64_t b) const {
    double sum = 0;
    for (int64_t k = 0; k < units; ++k)
      sum += r.at(Shape{row, k}) * before(states, first, t, b, k);
    return sum;
  }

  const bool reverse;
  const Tensor *valid;
  const int64_t steps, rows, units;
};

const Tensor *maskOf(Value valid, const Tensors &t) {
  return valid ? &t.back() : nullptr;
}

Tensors lstm(LstmOp op, const Tensors &t) {
  const Tensor &x = t[0], &r = t[1], &h0 = t[2], &c0 = t[3];
  Tensor h(tensorType(op.getH()).getShape()),
      c = h, gates(tensorType(op.getGates()).getShape());
  Walk walk(op, h, maskOf(op.getValid(), t));
  const int64_t units = walk.units;
  walk.run(false, [&](int64_t t, int64_t b) {
    for (int64_t j = 0; j < units; ++j) {
      double g[4];
      for (int64_t k = 0; k < 4; ++k) {
        double a = x.at(Shape{t, b, k * units + j}) +
                   walk.product(r, h, h0, k * units + j, t, b);
        g[k] = k == 3 ? std::tanh(a) : logistic(a);
        gates.at(Shape{k, t, b, j}) = g[k];
      }
      const bool counts = walk.counts(t, b);
      double was = walk.before(c, c0, t, b, j);
      double now = g[2] * was + g[0] * g[3];
      c.at(Shape{t, b, j}) = counts ? now : was;
      h.at(Shape{t, b, j}) =
          counts ? g[1] * std::tanh(now) : walk.before(h, h0, t, b, j);
    }
  });
  return {h, c, gates};
}

Tensors lstmBackward(LstmBackwardOp op, const Tensors &t) {
  const Tensor &gates = t[2], &c = t[3], &c0 = t[4], &r = t[5];
  Tensor dx(tensorType(op.getDx()).getShape()), dh(c0.shape), dc(c0.shape);
  Walk walk(op, t[0], maskOf(op.getValid(), t));
  const int64_t units = walk.units;
  walk.run(true, [&](int64_t s, int64_t b) {
    std::vector<double> next(units);
    const bool counts = walk.counts(s, b);
    for (int64_t j = 0; j < units; ++j) {
      auto gate = [&](int64_t k) { return gates.at(Shape{k, s, b, j}); };
      double dhj = dh.at(Shape{b, j}) += t[0].at(Shape{s, b, j});
      double dcj = dc.at(Shape{b, j}) += t[1].at(Shape{s, b, j});
      if (!counts) {
        next[j] = dhj;
        continue;
      }
      const double i = gate(0), o = gate(1), f = gate(2), g = gate(3),
                   y = std::tanh(c.at(Shape{s, b, j}));
      dcj += dhj * o * (1 - y * y);
      const double d[4] = {dcj * g * i * (1 - i), dhj * y * o * (1 - o),
                           dcj * walk.before(c, c0, s, b, j) * f * (1 - f),
                           dcj * i * (1 - g * g)};
      for (int64_t k = 0; k < 4; ++k) {
        dx.at(Shape{s, b, k * units + j}) = d[k];
        for (int64_t n = 0; n < units; ++n)
          next[n] += d[k] * r.at(Shape{k * units + j, n});
      }
      dc.at(Shape{b, j}) = dcj * f;
    }
    for (int64_t j = 0; j < units; ++j)
      dh.at(Shape{b, j}) = next[j];
  });
  return {dx, dh, dc};
}

Tensors gru(GruOp op, const Tensors &t) {
  const Tensor &x = t[0], &r = t[1], &bias = t[2], &h0 = t[3];
  Tensor h(tensorType(op.getH()).getShape()),
      gates(tensorType(op.getGates()).getShape());
  Walk walk(op, h, maskOf(op.getValid(), t));
  const int64_t units = walk.units;
  walk.run(false, [&](int64_t t, int64_t b) {
    auto gate = [&](int64_t k, int64_t j) -> double & {
      return gates.at(Shape{k, t, b, j});
    };
    auto input = [&](int64_t row) { return x.at(Shape{t, b, row}); };
    for (int64_t row = 0; row < 2 * units; ++row)
      gate(row / units, row % units) =
          logistic(input(row) + walk.product(r, h, h0, row, t, b));
    for (int64_t j = 0; j < units; ++j)
      gate(3, j) =
          op.getResetAfter()
              ? walk.product(r, h, h0, 2 * units + j, t, b) + bias.data[j]
              : gate(1, j) * walk.before(h, h0, t, b, j);
    for (int64_t j = 0; j < units; ++j) {
      double candidate = input(2 * units + j);
      if (op.getResetAfter()) {
        candidate += gate(1, j) * gate(3, j);
      } else {
        candidate += bias.data[j];
        for (int64_t k = 0; k < units; ++k)
          candidate += r.at(Shape{2 * units + j, k}) * gate(3, k);
      }
      const double z = gate(0, j), n = gate(2, j) = std::tanh(candidate);
      const double was = walk.before(h, h0, t, b, j);
      h.at(Shape{t, b, j}) = walk.counts(t, b) ? (1 - z) * n + z * was : was;
    }
  });
  return {h, gates};
}

Tensors gruBackward(GruBackwardOp op, const Tensors &t) {
  const Tensor &gates = t[1], &h = t[2], &h0 = t[3], &r = t[4];
  Tensor dx(tensorType(op.getDx()).getShape()), dp = dx, dh(h0.shape);
  Walk walk(op, h, maskOf(op.getValid(), t));
  const int64_t units = walk.units;
  walk.run(true, [&](int64_t s, int64_t b) {
    auto gate = [&](int64_t k, int64_t j) {
      return gates.at(Shape{k, s, b, j});
    };
    std::vector<double> next(units), reset(units);
    for (int64_t j = 0; j < units; ++j) {
      double d = dh.at(Shape{b, j}) += t[0].at(Shape{s, b, j});
      if (!walk.counts(s, b)) {
        next[j] = d;
        continue;
      }
      const double z = gate(0, j), n = gate(2, j);
      double dz = d * (walk.before(h, h0, s, b, j) - n) * z * (1 - z);
      double dn = d * (1 - z) * (1 - n * n);
      next[j] += d * z;
      dx.at(Shape{s, b, j}) = dp.at(Shape{s, b, j}) = dz;
      dx.at(Shape{s, b, 2 * units + j}) = dn;
      dp.at(Shape{s, b, 2 * units + j}) =
          op.getResetAfter() ? dn * gate(1, j) : dn;
    }
    if (walk.counts(s, b)) {
      auto dn = [&](int64_t j) { return dx.at(Shape{s, b, 2 * units + j}); };
      for (int64_t k = 0; k < units; ++k) {
        const double g = gate(1, k);
        double through = 0; // of r h'
        if (!op.getResetAfter())
          for (int64_t j = 0; j < units; ++j)
            through += dn(j) * r.at(Shape{2 * units + j, k});
        double dr = op.getResetAfter() ? dn(k) * gate(3, k)
                                       : through * walk.before(h, h0, s, b, k);
        dx.at(Shape{s, b, units + k}) = dp.at(Shape{s, b, units + k}) =
            dr * g * (1 - g);
        next[k] += through * g;
      }
      const int64_t products = (op.getResetAfter() ? 3 : 2) * units;
      for (int64_t row = 0; row < products; ++row)
        for (int64_t k = 0; k < units; ++k)
          next[k] += dp.at(Shape{s, b, row}) * r.at(Shape{row, k});
    }
    for (int64_t j = 0; j < units; ++j)
      dh.at(Shape{b, j}) = next[j];
  });
  return {dx, dp, dh};
}

Tensors rnn(RnnOp op, const Tensors &t) {
  const Tensor &x = t[0], &r = t[1], &h0 = t[2];
  Tensor h(x.shape);
  Walk walk(op, h, maskOf(op.getValid(), t));
  walk.run(false, [&](int64_t t, int64_t b) {
    for (int64_t j = 0; j < walk.units; ++j) {
      double a = x.at(Shape{t, b, j}) + walk.product(r, h, h0, j, t, b);
      h.at(Shape{t, b, j}) = !walk.counts(t, b) ? walk.before(h, h0, t, b, j)
                             : op.getRelu()     ? std::max(a, 0.0)
                                                : std::tanh(a);
    }
  });
  return {h};
}

Tensors rnnBackward(RnnBackwardOp op, const Tensors &t) {
  const Tensor &h = t[1], &r = t[2];
  Tensor dx(h.shape), dh(tensorType(op.getDh0()).getShape());
  Walk walk(op, h, maskOf(op.getValid(), t));
  walk.run(true, [&](int64_t s, int64_t b) {
    std::vector<double> next(walk.units);
    for (int64_t j = 0; j < walk.units; ++j) {
      double d = dh.at(Shape{b, j}) + t[0].at(Shape{s, b, j});
      if (!walk.counts(s, b)) {
        next[j] = d;
        continue;
      }
      double y = h.at(Shape{s, b, j});
      double da = d * (op.getRelu() ? double(y > 0) : 1 - y * y);
      dx.at(Shape{s, b, j}) = da;
      for (int64_t k = 0; k < walk.units; ++k)
        next[k] += da * r.at(Shape{j, k});
    }
    for (int64_t j = 0; j < walk.units; ++j)
      dh.at(Shape{b, j}) = next[j];
  });
  return {dx, dh};
}

/// The paths that ctc_paths sums over.
struct Paths {
  const Tensor &e, &jumps, &valid;

  int64_t steps() const { return e.shape[0]; }
  int64_t rows() const { return e.shape[1]; }
  int64_t places() const { return e.shape[2]; }
  double before(const Tensor &all, int64_t t, int64_t b, int64_t l) const {
    return t ? all.at(Shape{t - 1, b, l}) : l ? kNoPath : 0;
  }
  /// How many states a path may advance to reach `l`.
  int64_t reach(int64_t b, int64_t l) const {
    return std::min(l, jumps.at(Shape{b, l}) != 0 ? int64_t(2) : int64_t(1));
  }
  double sum(const Tensor &all, int64_t t, int64_t b, int64_t l) const {
    double most = kNoPath, total = 0;
    for (int64_t j = 0; j <= reach(b, l); ++j)
      most = std::max(most, before(all, t, b, l - j));
    if (most == kNoPath)
      return kNoPath;
    for (int64_t j = 0; j <= reach(b, l); ++j)
      total += std::exp(before(all, t, b, l - j) - most);
    return most + std::log(total);
  }
};

Tensors ctcPaths(const Tensors &t) {
  Paths paths{t[0], t[1], t[2]};
  Tensor all(t[0].shape), last(t[1].shape);
  for (int64_t s = 0; s < paths.steps(); ++s)
    for (int64_t b = 0; b < paths.rows(); ++b)
      for (int64_t l = 0; l < paths.places(); ++l) {
        const bool counts = paths.valid.at(Shape{s, b}) != 0;
        double sum = paths.sum(all, s, b, l);
        last.at(Shape{b, l}) = all.at(Shape{s, b, l}) =
            !counts          ? paths.before(all, s, b, l)
            : sum == kNoPath ? kNoPath
                             : sum + paths.e.at(Shape{s, b, l});
      }
  return {last, all};
}

Tensors ctcPathsBackward(const Tensors &t) {
  Paths paths{t[1], t[3], t[4]};
  Tensor d = t[0], de(t[1].shape);
  for (int64_t s = paths.steps(); s-- > 0;)
    for (int64_t b = 0; b < paths.rows(); ++b) {
      if (paths.valid.at(Shape{s, b}) == 0)
        continue;
      std::vector<double> next(paths.places());
      for (int64_t l = 0; l < paths.places(); ++l) {
        const double here = de.at(Shape{s, b, l}) = d.at(Shape{b, l});
        const double sum = paths.sum(t[2], s, b, l);
        for (int64_t j = 0; sum != kNoPath && j <= paths.reach(b, l); ++j)
          next[l - j] += here * std::exp(paths.before(t[2], s, b, l - j) - sum);
      }
      for (int64_t l = 0; l < paths.places(); ++l)
        d.at(Shape{b, l}) = next[l];
    }
  return {de};
}

} // namespace

std::optional<Tensors> runRecurrence(Operation *op, const Tensors &x) {
  return llvm::TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](LstmOp o) { return lstm(o, x); })
      .Case([&](LstmBackwardOp o) { return lstmBackward(o, x); })
      .Case([&](GruOp o) { return gru(o, x); })
      .Case([&](GruBackwardOp o) { return gruBackward(o, x); })
      .Case([&](RnnOp o) { return rnn(o, x); })
      .Case([&](RnnBackwardOp o) { return rnnBackward(o, x); })
      .Case([&](CtcPathsOp) { return ctcPaths(x); })
      .Case([&](CtcPathsBackwardOp) { return ctcPathsBackward(x); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace dlc::reference

// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: one matmul computes the products with all inputs; the
// steps are one op per direction, or separate ops if gates differ from that
// op's. Also linear attention.
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// An activation function of ONNX's recurrent operators.
struct GateFunction {
  StringRef name;
  double alpha = 0, beta = 0;
};

/// ONNX's activation functions, with the defaults of alpha and beta.
constexpr struct {
  llvm::StringLiteral name;
  bool takesNumbers;
  double alpha, beta;
} kActivations[] = {{"Sigmoid", false, 0, 0},        {"Tanh", false, 0, 0},
                    {"Relu", false, 0, 0},           {"Softsign", false, 0, 0},
                    {"HardSigmoid", true, 0.2, 0.5}, {"Affine", true, 1, 0}};

/// Gate settings of a node.
struct RecurrentGates {
  std::vector<GateFunction> functions; // grouped by direction
  double clip = 0;                     // 0: none
  bool coupled = false;                // the forget gate is 1 - the input gate
  Value peepholes;                     // [D, 3 H], or null

  bool isStandard(ArrayRef<StringRef> standard) const {
    if (clip || coupled || peepholes)
      return false;
    for (auto [i, f] : llvm::enumerate(functions))
      if (f.name != standard[i % standard.size()])
        return false;
    return true;
  }
};

/// Reads the settings of a node. `standard` are the functions if the node names
/// none; alpha and beta are assigned in order to the functions that take them.
FailureOr<RecurrentGates> findGates(const Node &n, int64_t directions,
                                    ArrayRef<StringRef> standard) {
  RecurrentGates gates;
  gates.clip = n.number("clip", 0);
  gates.coupled = n.integer("input_forget", 0) != 0;
  if (gates.clip < 0)
    return n.fail("clip is below 0");
  const size_t count = standard.size() * size_t(directions);
  const auto *given = n.find("activations"),
             *alphas = n.find("activation_alpha"),
             *betas = n.find("activation_beta");
  if (given && given->strings_size() != int(count))
    return n.fail("activations has {} names, expected {}",
                  given->strings_size(), count);
  int taken = 0;
  for (size_t i = 0; i < count; ++i) {
    StringRef name = standard[i % standard.size()];
    if (given)
      name = given->strings(int(i));
    const auto *known = llvm::find_if(kActivations, [&](const auto &entry) {
      return entry.name.equals_insensitive(name);
    });
    if (known == std::end(kActivations))
      return n.fail("activation '{}' is not supported", name);
    GateFunction f{known->name, known->alpha, known->beta};
    if (known->takesNumbers) {
      if (alphas && taken < alphas->floats_size())
        f.alpha = alphas->floats(taken);
      if (betas && taken < betas->floats_size())
        f.beta = betas->floats(taken);
      ++taken;
    }
    gates.functions.push_back(f);
  }
  return gates;
}

Expr clamped(Expr x, double low, double high) {
  return minimum(maximum(x, low), high);
}

Expr computed(const GateFunction &f, Expr x) {
  if (f.name == "Sigmoid")
    return sigmoid(x);
  if (f.name == "Tanh")
    return tanh(x);
  if (f.name == "Relu")
    return x.make<ir::ReluOp>(x.v);
  if (f.name == "Softsign")
    return x / (abs(x) + 1);
  Expr line = x * f.alpha + f.beta;
  return f.name == "Affine" ? line : clamped(line, 0, 1);
}

/// Input indices of the nodes.
constexpr size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5,
                 kInitialC = 6, kPeepholes = 7;

/// The attributes and operands that all three operators share.
struct RecurrentLayer {
  int64_t gates, steps, batch, features, units, directions;
  bool batchFirst, firstReverse;
  Expr x;      // [T, B, I]
  Value valid; // [T, B], null if all steps are valid

  bool isReverse(int64_t direction) const {
    return firstReverse || direction == 1;
  }
};

LogicalResult checkInputShapes(const Node &n, const RecurrentLayer &l) {
  const int64_t rows = l.gates * l.units;
  const Shape state = l.batchFirst ? Shape{l.batch, l.directions, l.units}
                                   : Shape{l.directions, l.batch, l.units};
  if (l.steps < 1)
    return n.fail("expected at least 1 step, found 0");
  return success(
      succeeded(
          checkInputShape(n, kW, "W", {l.directions, rows, l.features})) &&
      succeeded(checkInputShape(n, kR, "R", {l.directions, rows, l.units})) &&
      succeeded(checkInputShape(n, kB, "B", {l.directions, 2 * rows})) &&
      succeeded(checkInputShape(n, kLengths, "sequence_lens", {l.batch})) &&
      succeeded(checkInputShape(n, kInitialH, "initial_h", state)) &&
      succeeded(checkInputShape(n, kInitialC, "initial_c", state)));
}

/// Sets `valid`; known lengths equal to T need no mask.
LogicalResult findValid(const Node &n, RecurrentLayer &l) {
  if (!n.has(kLengths))
    return success();
  if (const HostTensor *known = n.host(kLengths)) {
    auto lengths = known->integers();
    if (llvm::all_of(lengths, [&](int64_t v) { return v == l.steps; }))
      return success();
    for (int64_t length : lengths)
      if (length < 0 || length > l.steps)
        return n.fail("sequence_lens has {}, expected 0 to {}", length,
                      l.steps);
  }
  DLC_GET(auto lengths, input(n, kLengths));
  Expr step = iota(n, {l.steps, l.batch}, 0, lengths.element());
  l.valid = step < lengths.reshape({1, l.batch});
  return success();
}

FailureOr<RecurrentLayer> describeLayer(const Node &n, int64_t gates) {
  DLC_GET(auto given, input(n, kX));
  if (!n.in(kW) || !n.in(kR))
    return failure();
  const int64_t layout = n.integer("layout", 0);
  if (layout != 0 && layout != 1)
    return n.fail("layout is {}, expected 0 or 1", layout);
  if (given.rank() != 3 || n.shape(kR).size() != 3)
    return n.fail("expected X and R of rank 3, found {} and {}", shapeOf(given),
                  n.shape(kR));
  DLC_GET(const auto direction,
          n.choice("direction", "forward",
                   {"forward", "reverse", "bidirectional"}));
  Expr x = layout ? transposed(given, {1, 0, 2}) : given;
  RecurrentLayer l{gates,
                   x.shape()[0],
                   x.shape()[1],
                   x.shape()[2],
                   n.shape(kR)[2],
                   direction == "bidirectional" ? 2 : 1,
                   layout != 0,
                   direction == "reverse",
                   x,
                   {}};
  if (n.integer("hidden_size", l.units) != l.units)
    return n.fail("hidden_size is {}, but R is {}", n.integer("hidden_size", 0),
                  n.shape(kR));
  DLC_CHECK(checkInputShapes(n, l));
  DLC_CHECK(findValid(n, l));
  for (size_t i : {kB, kInitialC, kInitialH})
    if (n.has(i) && !n.in(i))
      return failure();
  return l;
}

/// Slice of input `i`, which is there, for a direction.
Expr ofDirection(const Node &n, size_t i, int64_t direction, int64_t dim = 0) {
  return sliceOf(n.expr(n.in(i)), dim, direction);
}

/// Initial state [B, H]; zeros if the node has none.
Expr stateBefore(const Node &n, const RecurrentLayer &l, size_t i,
                 int64_t direction) {
  return n.has(i) ? ofDirection(n, i, direction, l.batchFirst ? 1 : 0)
                  : filled(n, {l.batch, l.units}, l.x.element(), 0);
}

/// x W^T + bias, which may be null.
Value gatesOfInput(const Node &n, const RecurrentLayer &l, int64_t direction,
                   Value bias) {
  return n.matmul(l.x, ofDirection(n, kW, direction), false, true, bias);
}

/// Wb + Rb, if both biases are simply added; null without biases.
Value wholeBias(const Node &n, const RecurrentLayer &l, int64_t direction) {
  if (!n.has(kB))
    return nullptr;
  const int64_t rows = l.gates * l.units;
  Expr both = ofDirection(n, kB, direction);
  return part(both, 0, 0, rows) + part(both, 0, rows, rows);
}

/// Results of the layer, by direction.
struct LayerOutputs {
  std::vector<Expr> h, lastH, lastC;
};

/// The state after the last valid step: [B, H].
Expr lastOf(const RecurrentLayer &l, Expr states, int64_t direction) {
  return sliceOf(states, 0, l.isReverse(direction) ? 0 : l.steps - 1);
}

/// Sets results of invalid steps to 0.
void addStates(const Node &n, const RecurrentLayer &l, Expr h,
               int64_t direction, LayerOutputs &out) {
  out.lastH.push_back(lastOf(l, h, direction));
  if (l.valid)
    h = select(n.expr(l.valid).reshape({l.steps, l.batch, 1}), h, 0);
  out.h.push_back(h);
}

LogicalResult giveOutputs(const Node &n, const RecurrentLayer &l,
                          const LayerOutputs &out) {
  const int64_t ofStates = l.batchFirst ? 1 : 0;
  if (n.uses(0)) {
    Expr y = stacked(out.h, 1); // [T, D, B, H]
    DLC_CHECK(n.result(0, l.batchFirst ? transposed(y, {2, 0, 1, 3}) : y));
  }
  if (n.uses(1))
    DLC_CHECK(n.result(1, stacked(out.lastH, ofStates)));
  return n.uses(2) ? n.result(2, stacked(out.lastC, ofStates)) : success();
}

/// Expands a direction step by step, for gates that the ops do not support.
class Stepwise {
public:
  Stepwise(const Node &n, const RecurrentLayer &l, const RecurrentGates &gates,
           int64_t direction)
      : n(n), l(l), gates(gates), direction(direction) {}

  LogicalResult lstm(LayerOutputs &out) {
    Value x = gatesOfInput(n, l, direction, wholeBias(n, l, direction));
    Expr c = stateBefore(n, l, kInitialC, direction);
    std::optional<Expr> p;
    if (gates.peepholes)
      p = ofDirection(n, kPeepholes, direction);
    auto seen = [&](Expr gate, Expr cell, int64_t at) {
      return p ? gate + part(*p, 0, at * l.units, l.units) * cell : gate;
    };
    auto step = [&](Expr now, Expr h, Expr r) {
      Expr z = now + product(h, r);
      Expr in = activate(0, seen(gate(z, 0), c, 0));
      Expr forget =
          gates.coupled ? 1.0 - in : activate(0, seen(gate(z, 2), c, 2));
      Expr cell = forget * c + in * activate(1, gate(z, 3));
      Expr shown = activate(0, seen(gate(z, 1), cell, 1));
      c = kept(cell, c);
      return shown * activate(2, cell);
    };
    DLC_CHECK(run(x, step, out));
    out.lastC.push_back(c);
    return success();
  }

  /// `bias` is the recurrent bias of the candidate.
  LogicalResult gru(Value x, Expr bias, bool linearBeforeReset,
                    LayerOutputs &out) {
    const int64_t two = 2 * l.units;
    auto step = [&](Expr now, Expr h, Expr r) {
      Expr others = part(r, 0, 0, two), own = part(r, 0, two, l.units);
      Expr z = part(now, 1, 0, two) + product(h, others);
      Expr update = activate(0, gate(z, 0)), reset = activate(0, gate(z, 1));
      Expr past = linearBeforeReset ? reset * (product(h, own) + bias)
                                    : product(reset * h, own) + bias;
      Expr candidate = activate(1, gate(now, 2) + past);
      return candidate + update * (h - candidate);
    };
    return run(x, step, out);
  }

  LogicalResult rnn(LayerOutputs &out) {
    Value x = gatesOfInput(n, l, direction, wholeBias(n, l, direction));
    auto step = [&](Expr now, Expr h, Expr r) {
      return activate(0, now + product(h, r));
    };
    return run(x, step, out);
  }

private:
  /// `step` computes the new state from the gates' inputs [B, G H], the
  /// previous state and R [G H, H].
  LogicalResult run(Value x, function_ref<Expr(Expr, Expr, Expr)> step,
                    LayerOutputs &out) {
    constexpr size_t kStepBytes = 16 << 10; // the ops of a step
    DLC_CHECK(n.check(n.table.budget().keep(size_t(l.steps) * kStepBytes,
                                            "a recurrent layer step by step")));
    if (!x)
      return failure();
    Expr r = ofDirection(n, kR, direction),
         h = stateBefore(n, l, kInitialH, direction);
    std::vector<Expr> states;
    for (int64_t i = 0; i < l.steps; ++i) {
      const int64_t t = l.isReverse(direction) ? l.steps - 1 - i : i;
      if (l.valid)
        valid = sliceOf(n.expr(l.valid), 0, t).reshape({l.batch, 1});
      h = kept(step(sliceOf(n.expr(x), 0, t), h, r), h);
      states.push_back(h);
    }
    if (l.isReverse(direction))
      std::ranges::reverse(states);
    addStates(n, l, stacked(states, 0), direction, out);
    return success();
  }

  /// Keeps `before` in rows where the step is invalid.
  Expr kept(Expr now, Expr before) const {
    return valid ? select(*valid, now, before) : now;
  }
  Expr gate(Expr z, int64_t i) const {
    return part(z, 1, i * l.units, l.units);
  }
  static Expr product(Expr h, Expr r) { return matmul(h, r, false, true); }

  /// Activation function `i` of the direction.
  Expr activate(size_t i, Expr x) const {
    const size_t count = gates.functions.size() / size_t(l.directions);
    const GateFunction &f = gates.functions[size_t(direction) * count + i];
    const bool isOfCell = i == 2; // not of a gate
    if (gates.clip && !isOfCell)
      x = clamped(x, -gates.clip, gates.clip);
    return computed(f, x);
  }

  const Node &n;
  const RecurrentLayer &l;
  const RecurrentGates &gates;
  const int64_t direction;
  std::optional<Expr> valid; // [B, 1] of the step, unless all are valid
};

LogicalResult lstmLayer(const Node &n) {
  const StringRef standard[] = {"Sigmoid", "Tanh", "Tanh"};
  DLC_GET(auto l, describeLayer(n, 4));
  DLC_CHECK(checkInputShape(n, kPeepholes, "P", {l.directions, 3 * l.units}));
  DLC_GET(auto gates, findGates(n, l.directions, standard));
  if (n.has(kPeepholes)) {
    const HostTensor *known = n.host(kPeepholes);
    const bool isZero = known && known->isSplat() && known->number(0) == 0;
    if (!isZero && !(gates.peepholes = n.in(kPeepholes)))
      return failure();
  }
  const bool isStandard = gates.isStandard(standard);
  LayerOutputs out;
  for (int64_t d = 0; d < l.directions; ++d) {
    if (!isStandard) {
      DLC_CHECK(Stepwise(n, l, gates, d).lstm(out));
      continue;
    }
    Value x = gatesOfInput(n, l, d, wholeBias(n, l, d));
    Operation *op = n.makeOp<ir::LstmOp>(
        3, x, ofDirection(n, kR, d).v, stateBefore(n, l, kInitialH, d).v,
        stateBefore(n, l, kInitialC, d).v, l.valid, l.isReverse(d));
    if (!op)
      return failure();
    addStates(n, l, n.expr(op->getResult(0)), d, out);
    out.lastC.push_back(lastOf(l, n.expr(op->getResult(1)), d));
  }
  return giveOutputs(n, l, out);
}

/// The op has a separate recurrent bias of the candidate.
LogicalResult gruLayer(const Node &n) {
  const StringRef standard[] = {"Sigmoid", "Tanh"};
  DLC_GET(auto l, describeLayer(n, 3));
  DLC_GET(auto gates, findGates(n, l.directions, standard));
  const bool isStandard = gates.isStandard(standard),
             isLinear = n.integer("linear_before_reset", 0) != 0;
  const int64_t rows = 3 * l.units, two = 2 * l.units;
  LayerOutputs out;
  for (int64_t d = 0; d < l.directions; ++d) {
    Value ofInput;
    Expr ofCandidate = filled(n, {l.units}, l.x.element(), 0);
    if (n.has(kB)) {
      Expr both = ofDirection(n, kB, d);
      Expr ofGates = part(both, 0, 0, two) + part(both, 0, rows, two);
      ofInput = joined({ofGates, part(both, 0, two, l.units)}, 0);
      ofCandidate = part(both, 0, rows + two, l.units);
    }
    Value x = gatesOfInput(n, l, d, ofInput);
    if (!isStandard) {
      DLC_CHECK(Stepwise(n, l, gates, d).gru(x, ofCandidate, isLinear, out));
      continue;
    }
    Operation *op = n.makeOp<ir::GruOp>(
        2, x, ofDirection(n, kR, d).v, ofCandidate.v,
        stateBefore(n, l, kInitialH, d).v, l.valid, isLinear, l.isReverse(d));
    if (!op)
      return failure();
    addStates(n, l, n.expr(op->getResult(0)), d, out);
  }
  return giveOutputs(n, l, out);
}

LogicalResult rnnLayer(const Node &n) {
  DLC_GET(auto l, describeLayer(n, 1));
  DLC_GET(auto gates, findGates(n, l.directions, StringRef("Tanh")));
  const bool relu = gates.isStandard(StringRef("Relu")),
             isStandard = relu || gates.isStandard(StringRef("Tanh"));
  LayerOutputs out;
  for (int64_t d = 0; d < l.directions; ++d) {
    if (!isStandard) {
      DLC_CHECK(Stepwise(n, l, gates, d).rnn(out));
      continue;
    }
    DLC_GET(Value h,
            n.make<ir::RnnOp>(gatesOfInput(n, l, d, wholeBias(n, l, d)),
                              ofDirection(n, kR, d).v,
                              stateBefore(n, l, kInitialH, d).v, l.valid, relu,
                              l.isReverse(d)));
    addStates(n, l, n.expr(h), d, out);
  }
  return giveOutputs(n, l, out);
}

} // namespace

void addRecurrenceRows(Rows &rows) {
  rows["LSTM"] = lstmLayer;
  rows["GRU"] = gruLayer;
  rows["RNN"] = rnnLayer;
  rows["LinearAttention"] = linearAttention;
}

} // namespace dlc::import

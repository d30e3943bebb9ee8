// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: one matmul computes the products with all inputs; the
// steps are one op per direction, or separate ops if gates differ from that
// op's. Also linear attention.
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/RecurrentGates.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// Input indices of the nodes.
constexpr size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5,
                 kInitialC = 6, kPeepholes = 7;

/// The attributes and operands that all three operators share.
struct RecurrentLayer {
  int64_t gates, steps, batch, features, units, directions;
  bool batchFirst, firstReverse;
  Value x;     // [T, B, I]
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
    return n.fail() << "expected at least 1 step, found 0";
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
        return n.fail() << "sequence_lens has " << length << ", expected 0 to "
                        << l.steps;
  }
  DLC_GET(Value lengths, n.in(kLengths));
  auto type =
      RankedTensorType::get({l.steps, l.batch}, ir::elementType(lengths));
  Value step = n.makeAs<ir::IotaOp>(type, uint64_t(0));
  l.valid = n.make<ir::CompareOp>(ir::Predicate::lt, step,
                                  n.reshape(lengths, {1, l.batch}));
  return success(bool(l.valid));
}

FailureOr<RecurrentLayer> describeLayer(const Node &n, int64_t gates) {
  Value x = n.in(kX);
  if (!x || !n.in(kW) || !n.in(kR))
    return failure();
  RecurrentLayer l;
  l.gates = gates;
  const int64_t layout = n.integer("layout", 0);
  if (layout != 0 && layout != 1)
    return n.fail() << "layout is " << layout << ", expected 0 or 1";
  l.batchFirst = layout;
  if (shapeOf(x).size() != 3 || n.shape(kR).size() != 3)
    return n.fail() << "expected X and R of rank 3, found "
                    << toString(shapeOf(x)) << " and " << toString(n.shape(kR));
  l.x = l.batchFirst ? n.transpose(x, {1, 0, 2}) : x;
  const Shape shape = shapeOf(l.x);
  l.steps = shape[0];
  l.batch = shape[1];
  l.features = shape[2];
  l.units = n.shape(kR)[2];
  const std::string direction = n.text("direction", "forward");
  if (!llvm::is_contained({"forward", "reverse", "bidirectional"}, direction))
    return n.fail() << "direction '" << direction << "' is not known";
  l.directions = direction == "bidirectional" ? 2 : 1;
  l.firstReverse = direction == "reverse";
  if (n.integer("hidden_size", l.units) != l.units)
    return n.fail() << "hidden_size is " << n.integer("hidden_size", 0)
                    << ", but R is " << toString(n.shape(kR));
  if (failed(checkInputShapes(n, l)) || failed(findValid(n, l)))
    return failure();
  return l;
}

/// Slices [from, to) of dimension `dim`.
Value elementsOf(const Node &n, Value x, size_t dim, int64_t from, int64_t to) {
  return x ? part(Expr(n.b, n.loc, x), dim, from, to - from).v : x;
}

/// Element `i` of dimension `dim`, without that dimension.
Value elementOf(const Node &n, Value x, size_t dim, int64_t i) {
  return x ? squeezed(part(Expr(n.b, n.loc, x), dim, i, 1), dim).v : x;
}

/// Slice of input `i` for a direction.
Value ofDirection(const Node &n, size_t i, int64_t direction, size_t dim = 0) {
  return elementOf(n, n.in(i), dim, direction);
}

Value zerosLike(const Node &n, const Shape &shape, Value like) {
  return n.broadcast(n.constant(0, like), shape);
}

/// Initial state [B, H]; zeros if the node has none.
Value stateBefore(const Node &n, const RecurrentLayer &l, size_t i,
                  int64_t direction) {
  return n.has(i) ? ofDirection(n, i, direction, l.batchFirst ? 1 : 0)
                  : zerosLike(n, {l.batch, l.units}, l.x);
}

/// x W^T + bias.
Value gatesOfInput(const Node &n, const RecurrentLayer &l, int64_t direction,
                   Value bias) {
  Value w = ofDirection(n, kW, direction);
  if (n.has(kB) && !bias)
    return nullptr;
  return w ? n.make<ir::MatmulOp>(l.x, w, bias, false, true, StringAttr())
           : Value();
}

/// Wb + Rb, if both biases are simply added.
Value wholeBias(const Node &n, const RecurrentLayer &l, int64_t direction) {
  if (!n.has(kB))
    return nullptr;
  const int64_t rows = l.gates * l.units;
  Value both = ofDirection(n, kB, direction);
  return n.make<ir::AddOp>(elementsOf(n, both, 0, 0, rows),
                           elementsOf(n, both, 0, rows, 2 * rows));
}

/// Results of the layer, by direction.
struct LayerOutputs {
  std::vector<Value> h, lastH, lastC;
};

/// The state after the last valid step: [B, H].
Value lastOf(const Node &n, const RecurrentLayer &l, Value states,
             int64_t direction) {
  return elementOf(n, states, 0, l.isReverse(direction) ? 0 : l.steps - 1);
}

/// Sets results of invalid steps to 0.
LogicalResult addStates(const Node &n, const RecurrentLayer &l, Value h,
                        int64_t direction, LayerOutputs &out) {
  if (!h)
    return failure();
  out.lastH.push_back(lastOf(n, l, h, direction));
  if (l.valid)
    h = n.make<ir::SelectOp>(n.reshape(l.valid, {l.steps, l.batch, 1}), h,
                             zerosLike(n, {l.steps, l.batch, l.units}, h));
  out.h.push_back(h);
  return success();
}

/// Stacks along a new dimension `dim`.
Value joinDirections(const Node &n, std::vector<Value> parts, size_t dim) {
  for (Value &part : parts) {
    if (!part)
      return nullptr;
    part = unsqueezed(Expr(n.b, n.loc, part), dim);
  }
  return parts.size() == 1
             ? parts[0]
             : n.make<ir::ConcatOp>(ValueRange(parts), uint64_t(dim));
}

LogicalResult giveOutputs(const Node &n, const RecurrentLayer &l,
                          const LayerOutputs &out) {
  const size_t ofStates = l.batchFirst ? 1 : 0;
  if (n.uses(0)) {
    Value y = joinDirections(n, out.h, 1); // [T, D, B, H]
    if (y && l.batchFirst)
      y = n.transpose(y, {2, 0, 1, 3});
    DLC_CHECK(n.result(0, y));
  }
  if (n.uses(1) && failed(n.result(1, joinDirections(n, out.lastH, ofStates))))
    return failure();
  return n.uses(2) ? n.result(2, joinDirections(n, out.lastC, ofStates))
                   : success();
}

/// Expands a direction step by step, for gates that the ops do not support.
class Stepwise {
public:
  Stepwise(const Node &n, const RecurrentLayer &l, const RecurrentGates &gates,
           int64_t direction)
      : n(n), l(l), gates(gates), direction(direction) {}

  LogicalResult lstm(LayerOutputs &out) {
    Value x = gatesOfInput(n, l, direction, wholeBias(n, l, direction)),
          c = stateBefore(n, l, kInitialC, direction),
          p = gates.peepholes ? ofDirection(n, kPeepholes, direction) : Value();
    auto seen = [&](Value gate, Value cell, int64_t at) {
      return p ? add(gate,
                     mul(elementsOf(n, p, 0, at * l.units, (at + 1) * l.units),
                         cell))
               : gate;
    };
    auto step = [&](Value now, Value h, Value r) {
      Value z = add(now, product(h, r));
      Value in = activate(0, seen(gate(z, 0), c, 0));
      Value forget = gates.coupled ? n.make<ir::SubOp>(n.constant(1, in), in)
                                   : activate(0, seen(gate(z, 2), c, 2));
      Value cell = add(mul(forget, c), mul(in, activate(1, gate(z, 3))));
      Value shown = activate(0, seen(gate(z, 1), cell, 1));
      c = kept(cell, c);
      return mul(shown, activate(2, cell));
    };
    DLC_CHECK(run(x, step, out));
    out.lastC.push_back(c);
    return success();
  }

  /// `bias` is the recurrent bias of the candidate.
  LogicalResult gru(Value x, Value bias, bool linearBeforeReset,
                    LayerOutputs &out) {
    const int64_t two = 2 * l.units, three = 3 * l.units;
    auto step = [&](Value now, Value h, Value r) {
      Value others = elementsOf(n, r, 0, 0, two),
            own = elementsOf(n, r, 0, two, three);
      Value z = add(elementsOf(n, now, 1, 0, two), product(h, others));
      Value update = activate(0, gate(z, 0)), reset = activate(0, gate(z, 1));
      Value past = linearBeforeReset ? mul(reset, add(product(h, own), bias))
                                     : add(product(mul(reset, h), own), bias);
      Value candidate = activate(1, add(gate(now, 2), past));
      return add(candidate, mul(update, n.make<ir::SubOp>(h, candidate)));
    };
    return run(x, step, out);
  }

  LogicalResult rnn(LayerOutputs &out) {
    Value x = gatesOfInput(n, l, direction, wholeBias(n, l, direction));
    auto step = [&](Value now, Value h, Value r) {
      return activate(0, add(now, product(h, r)));
    };
    return run(x, step, out);
  }

private:
  /// `step` computes the new state from the gates' inputs [B, G H], the
  /// previous state and R [G H, H].
  LogicalResult run(Value x, function_ref<Value(Value, Value, Value)> step,
                    LayerOutputs &out) {
    constexpr size_t kStepBytes = 16 << 10; // the ops of a step
    DLC_CHECK(n.check(n.table.budget().keep(size_t(l.steps) * kStepBytes,
                                            "a recurrent layer step by step")));
    Value r = ofDirection(n, kR, direction),
          h = stateBefore(n, l, kInitialH, direction);
    if (!x || !r || !h)
      return failure();
    std::vector<Value> states(size_t(l.steps));
    for (int64_t i = 0; i < l.steps; ++i) {
      const int64_t t = l.isReverse(direction) ? l.steps - 1 - i : i;
      if (l.valid)
        valid = n.reshape(elementOf(n, l.valid, 0, t), {l.batch, 1});
      h = this->kept(step(elementOf(n, x, 0, t), h, r), h);
      if (!h)
        return failure();
      states[size_t(t)] = h;
    }
    return addStates(n, l, joinDirections(n, states, 0), direction, out);
  }

  /// Keeps `before` in rows where the step is invalid.
  Value kept(Value now, Value before) const {
    return valid ? n.make<ir::SelectOp>(valid, now, before) : now;
  }
  Value gate(Value z, int64_t i) const {
    return elementsOf(n, z, 1, i * l.units, (i + 1) * l.units);
  }
  Value add(Value a, Value b) const { return n.make<ir::AddOp>(a, b); }
  Value mul(Value a, Value b) const { return n.make<ir::MulOp>(a, b); }
  Value product(Value h, Value r) const {
    return n.make<ir::MatmulOp>(h, r, Value(), false, true, StringAttr());
  }

  /// Activation function `i` of the direction.
  Value activate(size_t i, Value x) const {
    const size_t count = gates.functions.size() / size_t(l.directions);
    const GateFunction &f = gates.functions[size_t(direction) * count + i];
    const bool isOfCell = i == 2; // not of a gate
    if (gates.clip && !isOfCell)
      x = clamped(n, x, -gates.clip, gates.clip);
    return computed(n, f, x);
  }

  const Node &n;
  const RecurrentLayer &l;
  const RecurrentGates &gates;
  const int64_t direction;
  Value valid; // [B, 1] of the step, null if all are valid
};

LogicalResult lstmLayer(const Node &n) {
  const StringRef standard[] = {"Sigmoid", "Tanh", "Tanh"};
  auto l = describeLayer(n, 4);
  if (failed(l) || failed(checkInputShape(n, kPeepholes, "P",
                                          {l->directions, 3 * l->units})))
    return failure();
  DLC_GET(auto gates, findGates(n, l->directions, standard));
  if (n.has(kPeepholes)) {
    const HostTensor *known = n.host(kPeepholes);
    const bool isZero = known && known->isSplat() && known->number(0) == 0;
    if (!isZero && !(gates.peepholes = n.in(kPeepholes)))
      return failure();
  }
  const bool isStandard = gates.isStandard(standard);
  LayerOutputs out;
  for (int64_t d = 0; d < l->directions; ++d) {
    if (!isStandard) {
      DLC_CHECK(Stepwise(n, *l, gates, d).lstm(out));
      continue;
    }
    Value x = gatesOfInput(n, *l, d, wholeBias(n, *l, d));
    Operation *op = n.makeOp<ir::LstmOp>(
        3, x, ofDirection(n, kR, d), stateBefore(n, *l, kInitialH, d),
        stateBefore(n, *l, kInitialC, d), l->valid, l->isReverse(d));
    if (!op || failed(addStates(n, *l, op->getResult(0), d, out)))
      return failure();
    out.lastC.push_back(lastOf(n, *l, op->getResult(1), d));
  }
  return giveOutputs(n, *l, out);
}

/// The op has a separate recurrent bias of the candidate.
LogicalResult gruLayer(const Node &n) {
  const StringRef standard[] = {"Sigmoid", "Tanh"};
  DLC_GET(auto l, describeLayer(n, 3));
  auto gates = findGates(n, l.directions, standard);
  DLC_CHECK(gates);
  const bool isStandard = gates->isStandard(standard),
             isLinear = n.integer("linear_before_reset", 0) != 0;
  const int64_t rows = 3 * l.units, two = 2 * l.units;
  LayerOutputs out;
  for (int64_t d = 0; d < l.directions; ++d) {
    Value ofInput, ofCandidate = zerosLike(n, {l.units}, l.x);
    if (n.has(kB)) {
      Value both = ofDirection(n, kB, d);
      Value gates = n.make<ir::AddOp>(elementsOf(n, both, 0, 0, two),
                                      elementsOf(n, both, 0, rows, rows + two));
      Value parts[] = {gates, elementsOf(n, both, 0, two, rows)};
      ofInput = n.make<ir::ConcatOp>(ValueRange(parts), uint64_t(0));
      ofCandidate = elementsOf(n, both, 0, rows + two, 2 * rows);
    }
    Value x = gatesOfInput(n, l, d, ofInput);
    if (!isStandard) {
      DLC_CHECK(Stepwise(n, l, *gates, d).gru(x, ofCandidate, isLinear, out));
      continue;
    }
    Operation *op = n.makeOp<ir::GruOp>(
        2, x, ofDirection(n, kR, d), ofCandidate,
        stateBefore(n, l, kInitialH, d), l.valid, isLinear, l.isReverse(d));
    if (!op || failed(addStates(n, l, op->getResult(0), d, out)))
      return failure();
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
    Value h = n.make<ir::RnnOp>(
        gatesOfInput(n, l, d, wholeBias(n, l, d)), ofDirection(n, kR, d),
        stateBefore(n, l, kInitialH, d), l.valid, relu, l.isReverse(d));
    DLC_CHECK(addStates(n, l, h, d, out));
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

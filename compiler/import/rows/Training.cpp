// SPDX-License-Identifier: Apache-2.0
// ai.onnx.preview.training: optimizer steps, and gradients of values that the
// graph computes.
#include "compiler/import/rows/Build.h"
#include "mlir/IR/IRMapping.h"
#include "onnx-ml.pb.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc::import {
namespace training {
namespace {

/// Operands of a step for one tensor: the tensor, its gradient, its moments.
using Parts = std::vector<Expr>;

/// Rate and step count, in the tensor's type.
struct Progress {
  Expr rate, count;
};

/// Computes the new tensor, then its moments.
using Step = Parts (*)(const Node &, const Progress &, const Parts &);

Expr regularized(const Node &n, const Parts &p) {
  const double norm = n.number("norm_coefficient", 0);
  return norm == 0 ? p[1] : p[0] * norm + p[1];
}

/// 1 unless this is the first step, else 0.
Expr isLater(const Progress &now) { return now.count > 0; }

Parts adagrad(const Node &n, const Progress &now, const Parts &p) {
  Expr rate = now.rate / (now.count * n.number("decay_factor", 0) + 1.0);
  Expr g = regularized(n, p), kept = p[2] + g * g;
  return {p[0] - rate * g / (sqrt(kept) + n.number("epsilon", 1e-6)), kept};
}

Parts adam(const Node &n, const Progress &now, const Parts &p) {
  const double alpha = n.number("alpha", 0.9), beta = n.number("beta", 0.999);
  Expr g = regularized(n, p);
  Expr first = p[2] * alpha + g * (1 - alpha),
       second = p[3] * beta + g * g * (1 - beta);
  Expr count = maximum(now.count, 1); // avoids 0 / 0
  auto left = [&](double decay) {
    return 1.0 - pow(count.scalar(decay), count);
  };
  Expr rate =
      select(isLater(now), now.rate * sqrt(left(beta)) / left(alpha), now.rate);
  Expr x = p[0] - rate * first / (sqrt(second) + n.number("epsilon", 1e-6));
  return {x * (1 - n.number("norm_coefficient_post", 0)), first, second};
}

Parts momentum(const Node &n, const Progress &now, const Parts &p) {
  const double alpha = n.number("alpha", 0);
  Expr beta = select(isLater(now), now.rate.scalar(n.number("beta", 0)),
                     now.rate.scalar(1));
  Expr g = regularized(n, p), kept = p[2] * alpha + beta * g;
  Expr way = n.text("mode", "") == "nesterov" ? g + kept * alpha : kept;
  return {p[0] - now.rate * way, kept};
}

/// Inputs R, T, all tensors, all gradients, ...; outputs all new tensors, ...
LogicalResult optimize(const Node &n, size_t parts, Step step) {
  const size_t count = n.inputs() < 2 ? 0 : (n.inputs() - 2) / parts;
  if (count == 0 || n.inputs() != 2 + count * parts ||
      n.outputs() != count * (parts - 1))
    return n.fail(
        "has {} inputs and {} outputs, expected 2 + {} and {} for each tensor",
        n.inputs(), n.outputs(), parts, parts - 1);
  DLC_GET(auto rate, input(n, 0));
  DLC_GET(auto steps, input(n, 1));
  for (size_t i = 0; i < count; ++i) {
    Parts given;
    for (size_t k = 0; k < parts; ++k) {
      DLC_GET(auto part, input(n, 2 + k * count + i));
      if (k > 0 && part.v.getType() != given[0].v.getType())
        return n.fail("input {} has shape {}, expected {} as '{}'",
                      2 + k * count + i, shapeOf(part), shapeOf(given[0]),
                      n.inputName(2 + i));
      given.push_back(part);
    }
    const Type type = given[0].element();
    if (sizeOf(shapeOf(rate)) != 1 || sizeOf(shapeOf(steps)) != 1)
      return n.fail("expected one number for the rate and one for the count of "
                    "steps, found shapes {} and {}",
                    shapeOf(rate), shapeOf(steps));
    const Progress now{rate.reshape({}).cast(type),
                       steps.reshape({}).cast(type)};
    Parts made = step(n, now, given);
    for (size_t k = 0; k < made.size(); ++k)
      DLC_CHECK(n.result(k * count + i, made[k]));
  }
  return success();
}

/// The ops between some values and a result that depends on them.
struct Between {
  llvm::SetVector<Operation *> ops; // in program order
  llvm::DenseSet<Value> moving;     // float values that depend on them
};

Between between(Value y, ArrayRef<Value> xs) {
  llvm::DenseSet<Value> known(xs.begin(), xs.end());
  SmallVector<Operation *> before;
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> next{y};
  while (!next.empty()) {
    Value v = next.pop_back_val();
    Operation *op = known.contains(v) ? nullptr : v.getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    before.push_back(op);
    llvm::append_range(next, op->getOperands());
  }
  llvm::sort(before,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Between found{{}, known};
  for (Operation *op : before) {
    if (llvm::none_of(op->getOperands(),
                      [&](Value v) { return found.moving.contains(v); }))
      continue;
    found.ops.insert(op);
    for (Value v : op->getResults())
      if (isa<FloatType>(ir::elementType(v)))
        found.moving.insert(v);
  }
  return found;
}

/// Gradients of the sum of y with respect to xs; null if no op reads an x.
FailureOr<SmallVector<Value>> derivatives(const Node &n, Value y,
                                          ArrayRef<Value> xs) {
  Between path = between(y, xs);
  DLC_CHECK(n.check(n.table.budget().work(path.ops.size(), "differentiating")));
  llvm::DenseMap<Value, Value> sums;
  sums[y] = filled(n, shapeOf(y), ir::elementType(y), 1);
  for (Operation *op : llvm::reverse(path.ops)) {
    SmallVector<Value> dy, dx;
    for (Value v : op->getResults())
      dy.push_back(path.moving.contains(v) ? sums.lookup(v) : Value());
    if (llvm::none_of(dy, [](Value v) { return bool(v); }))
      continue;
    auto rule = dyn_cast<ir::DifferentiableInterface>(op);
    if (!rule)
      return n.fail("'{}' between it and the inputs has no gradient",
                    op->getName().getStringRef());
    DLC_CHECK(rule.buildGradient(n.b, dy, dx));
    for (auto [v, d] : llvm::zip(op->getOperands(), dx))
      if (d && path.moving.contains(v)) {
        Value &sum = sums[v];
        sum = sum ? n.make<ir::AddOp>(sum, d) : d;
      }
  }
  SmallVector<Value> found;
  for (Value x : xs)
    found.push_back(sums.lookup(x));
  return found;
}

/// y with each of `from` replaced by the corresponding value of `to`.
Value substituted(const Node &n, Value y, ArrayRef<Value> from,
                  ArrayRef<Value> to) {
  IRMapping mapping;
  mapping.map(from, to);
  for (Operation *op : between(y, from).ops)
    n.b.clone(*op, mapping);
  return mapping.lookupOrDefault(y);
}

std::vector<std::string> names(const Node &n, const char *attribute) {
  const onnx::AttributeProto *found = n.find(attribute);
  return found ? std::vector<std::string>(found->strings().begin(),
                                          found->strings().end())
               : std::vector<std::string>();
}

/// Values of `symbols`, for which the node may provide replacements.
LogicalResult addValues(const Node &n, const std::vector<std::string> &symbols,
                        SmallVector<Value> &values, SmallVector<Value> &given) {
  for (const std::string &symbol : symbols) {
    Value value = n.table.value(symbol, n.loc);
    Value other = n.in(values.size());
    if (!value || !other)
      return n.fail("'{}' is no tensor", symbol);
    if (value.getType() != other.getType())
      return n.fail(
          "input '{}' has shape {}, expected {} as '{}', and one element type",
          n.inputName(values.size()), shapeOf(other), shapeOf(value), symbol);
    values.push_back(value);
    given.push_back(other);
  }
  return success();
}

LogicalResult gradient(const Node &n) {
  const std::vector<std::string> xs = names(n, "xs"), zs = names(n, "zs");
  const std::string target = n.text("y", "");
  if (n.inputs() != xs.size() + zs.size() || n.outputs() > xs.size())
    return n.fail("has {} inputs and {} outputs for {} xs and {} zs, expected "
                  "an input for each and an output for each of xs",
                  n.inputs(), n.outputs(), xs.size(), zs.size());
  Value y = n.table.value(target, n.loc);
  SmallVector<Value> values, given;
  if (!y || failed(addValues(n, xs, values, given)) ||
      failed(addValues(n, zs, values, given)))
    return failure();
  if (values != given)
    y = substituted(n, y, values, given);
  if (!isa<FloatType>(ir::elementType(y)))
    return n.fail("y '{}' holds no floats", target);
  given.resize(xs.size());
  DLC_GET(auto found, derivatives(n, y, given));
  for (auto [i, d] : llvm::enumerate(found)) {
    if (!d && !n.uses(i))
      continue;
    if (!d)
      return n.fail("'{}' does not depend on '{}' in a way that has a "
                    "derivative, or only by values known at compile time",
                    target, xs[i]);
    DLC_CHECK(n.result(i, d));
  }
  return success();
}

} // namespace
} // namespace training

void addTrainingRows(Rows &rows) {
  using namespace training;
  const std::string domain = "ai.onnx.preview.training.";
  rows[domain + "Adagrad"] = [](const Node &n) {
    return optimize(n, 3, adagrad);
  };
  rows[domain + "Adam"] = [](const Node &n) { return optimize(n, 4, adam); };
  rows[domain + "Momentum"] = [](const Node &n) {
    DLC_CHECK(n.choice("mode", "", {"standard", "nesterov"}));
    return optimize(n, 3, momentum);
  };
  rows[domain + "Gradient"] = gradient;
}

} // namespace dlc::import

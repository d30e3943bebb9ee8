// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/GraphLoss.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/canonicalize/CanonicalizePatterns.h"
#include "passes/loss/LossResults.h"
#include "passes/loss/LossTerms.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// Largest constants added to a sum of weights, or bounding it, to avoid 0.
constexpr double kMostAdded = 1e-3, kMostBound = 1;

int64_t countOf(Value v) { return tensorType(v).getNumElements(); }

/// scale * sum(of); `how` tells which reduction to a mean `scale` excludes.
struct Sum {
  Value of;
  double scale;
  Divisor how{};

  void multiply(double by) {
    scale *= by;
    if (by != 1)
      how.steps.push_back({Divisor::Kind::Scale, by});
  }
};

template <class Is> bool dependsOn(Value v, Is is) {
  SmallVector<Value> left{v};
  llvm::DenseSet<Value> seen{v};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (is(next))
      return true;
    if (Operation *op = next.getDefiningOp())
      for (Value operand : op->getOperands())
        if (seen.insert(operand).second)
          left.push_back(operand);
  }
  return false;
}

bool dependsOnInput(Value v) {
  return dependsOn(v, [](Value x) { return isa<BlockArgument>(x); });
}

bool dependsOnTrained(Value v) {
  return dependsOn(v, [](Value x) {
    auto read = x.getDefiningOp<ir::ReadOp>();
    auto state = read ? SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(
                            read, read.getStateAttr())
                      : ir::StateOp();
    return state && state.getTrainable();
  });
}

class Means {
public:
  explicit Means(int64_t samples) : samples(samples) {}

  bool find(Value v, double factor) {
    Operation *op = v.getDefiningOp();
    if (!dependsOnInput(v)) {
      found.push_back({v, {}, factor});
      return true;
    }
    if (auto sum = reduced(v)) {
      found.push_back({sum->of, {}, factor * sum->scale * countOf(sum->of)});
      return hasRows(sum->of);
    }
    return op && (findIn(op, factor) || findRow(v, factor));
  }

  LossMeans found;

private:
  bool findIn(Operation *op, double factor) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<ir::CastOp, ir::ReshapeOp, ir::BroadcastOp>([&](auto view) {
          return countOf(view.getX()) == 1 && find(view.getX(), factor);
        })
        .Case<ir::NegOp>([&](auto neg) { return find(neg.getX(), -factor); })
        .Case<ir::AddOp>([&](auto add) {
          return find(add.getA(), factor) && find(add.getB(), factor);
        })
        .Case<ir::SubOp>([&](auto sub) {
          return find(sub.getA(), factor) && find(sub.getB(), -factor);
        })
        .Case<ir::MulOp>([&](auto mul) {
          if (auto by = splatOf(mul.getB()))
            return find(mul.getA(), factor * *by);
          auto by = splatOf(mul.getA());
          return by && find(mul.getB(), factor * *by);
        })
        .Case<ir::DivOp>([&](ir::DivOp div) {
          if (auto by = splatOf(div.getB()))
            return find(div.getA(), factor / *by);
          return findRatio(div, factor);
        })
        .Default(false);
  }

  bool findRatio(ir::DivOp div, double factor) {
    auto above = sumOf(div.getA()), below = sumBelow(div.getB());
    if (!above || !below || dependsOnTrained(below->of) ||
        !dependsOnInput(below->of) || !hasRows(above->of) ||
        !hasRows(below->of))
      return false;
    found.push_back({above->of, below->of, factor * above->scale / below->scale,
                     div, below->how});
    return true;
  }

  /// A single sample is one row.
  bool findRow(Value v, double factor) {
    if (samples != 1)
      return false;
    found.push_back({v, {}, factor});
    return true;
  }

  /// Matches a sum or mean over all elements.
  static std::optional<Sum> reduced(Value v) {
    if (countOf(v) != 1)
      return std::nullopt;
    if (auto sum = v.getDefiningOp<ir::ReduceSumOp>())
      return Sum{sum.getX(), 1, {v}};
    if (auto mean = v.getDefiningOp<ir::ReduceMeanOp>())
      return Sum{mean.getX(), 1 / double(countOf(mean.getX())), {v, true}};
    return std::nullopt;
  }

  std::optional<Sum> sumOf(Value v) const {
    if (auto sum = reduced(v))
      return sum;
    auto scaled = [&](Value x, std::optional<double> by) -> std::optional<Sum> {
      auto sum = by ? sumOf(x) : std::nullopt;
      if (sum)
        sum->multiply(*by);
      return sum;
    };
    std::optional<Sum> sum;
    if (Operation *op = v.getDefiningOp())
      sum =
          llvm::TypeSwitch<Operation *, std::optional<Sum>>(op)
              .Case<ir::CastOp, ir::ReshapeOp>(
                  [&](auto view) { return scaled(view.getX(), 1); })
              .Case<ir::NegOp>([&](auto neg) { return scaled(neg.getX(), -1); })
              .Case<ir::MulOp>([&](auto mul) {
                auto by = splatOf(mul.getB());
                return by ? scaled(mul.getA(), by)
                          : scaled(mul.getB(), splatOf(mul.getA()));
              })
              .Case<ir::DivOp>([&](auto div) {
                auto by = splatOf(div.getB());
                return scaled(div.getA(),
                              by ? std::optional(1 / *by) : std::nullopt);
              })
              .Default(std::nullopt);
    return !sum && samples == 1 && countOf(v) == 1 ? Sum{v, 1, {v}} : sum;
  }

  /// Matches a sum of weights, possibly kept from 0.
  std::optional<Sum> sumBelow(Value v) const {
    using Kind = Divisor::Kind;
    auto without = [&](Value a, Value b, Kind kind,
                       double most) -> std::optional<Sum> {
      auto small = splatOf(b);
      if (!small || *small < 0 || *small > most)
        return std::nullopt;
      auto sum = sumBelow(a);
      if (sum)
        sum->how.steps.push_back({kind, *small});
      return sum;
    };
    auto either = [&](auto op, Kind kind, double most) {
      auto sum = without(op.getA(), op.getB(), kind, most);
      return sum ? sum : without(op.getB(), op.getA(), kind, most);
    };
    if (auto max = v.getDefiningOp<ir::MaxOp>())
      return either(max, Kind::AtLeast, kMostBound);
    if (auto add = v.getDefiningOp<ir::AddOp>())
      return either(add, Kind::Add, kMostAdded);
    if (Operation *op = v.getDefiningOp(); op &&
                                           isa<ir::CastOp, ir::ReshapeOp>(op) &&
                                           countOf(op->getOperand(0)) == 1)
      if (auto sum = sumBelow(op->getOperand(0)))
        return sum;
    return sumOf(v);
  }

  bool hasRows(Value rows) const { return countOf(rows) % samples == 0; }

  const int64_t samples;
};

StringRef nameOf(func::FuncOp predict, unsigned result) {
  auto name = predict.getResultAttrOfType<StringAttr>(result, "dlc.name");
  return name ? name.getValue() : "";
}

/// The scalar results that depend on inputs and on trained states.
SmallVector<unsigned> numbersOf(func::FuncOp predict) {
  SmallVector<unsigned> numbers;
  const bool hasSamples = samplesOf(predict) > 1;
  for (auto [i, v] :
       llvm::enumerate(predict.front().getTerminator()->getOperands())) {
    const auto type = tensorType(v);
    if (isa<FloatType>(type.getElementType()) &&
        (type.getRank() == 0 ||
         (hasSamples && type.getRank() == 1 && type.getDimSize(0) == 1)) &&
        dependsOnInput(v) && dependsOnTrained(v))
      numbers.push_back(unsigned(i));
  }
  return numbers;
}

} // namespace

std::optional<unsigned> findGraphLoss(func::FuncOp predict, StringRef kind) {
  std::string wrong;
  const auto terms = parseLossTerms(kind, wrong);
  const bool isTerm = terms && terms->size() == 1 &&
                      terms->front().kind == "graph" &&
                      terms->front().weight == 1;
  const bool isAuto = kind == "auto";
  for (unsigned i = 0; i < predict.getNumResults(); ++i)
    if (isTerm ? nameOf(predict, i) == terms->front().output
               : (isAuto || kind == "cross_entropy") &&
                     predict.getResultAttr(i, "dlc.loss"))
      return i;
  const SmallVector<unsigned> numbers =
      isAuto ? numbersOf(predict) : SmallVector<unsigned>();
  for (unsigned i : numbers)
    if (nameOf(predict, i) == "loss")
      return i;
  if (numbers.size() == 1 &&
      (numbers[0] == 0 ||
       nameOf(predict, numbers[0]).contains_insensitive("loss")))
    return numbers[0];
  return std::nullopt;
}

void remarkNumbers(func::FuncOp predict, std::optional<unsigned> taken) {
  if (taken && predict.getResultAttr(*taken, "dlc.loss"))
    return;
  if (taken)
    predict.emitRemark() << "the loss is output '" << nameOf(predict, *taken)
                         << "', a number that the graph computes (--loss="
                         << nameOf(predict, *taken) << ":graph)";
  else
    for (unsigned i : numbersOf(predict))
      predict.emitRemark() << "output '" << nameOf(predict, i)
                           << "', a number that the graph computes, is not "
                              "trained; --loss="
                           << nameOf(predict, i)
                           << ":graph takes it for the loss, or for one of "
                              "several";
}

ir::Expr Divisor::of(ir::Expr other) const {
  for (const Step &step : steps)
    switch (step.kind) {
    case Kind::Scale:
      other = other * step.by;
      break;
    case Kind::Add:
      other = other + step.by;
      break;
    case Kind::AtLeast:
      other = maximum(other, step.by);
      break;
    }
  return other;
}

std::optional<LossMeans> meansOf(Value loss, int64_t samples) {
  Means means(std::max<int64_t>(samples, 1));
  if (!means.find(loss, 1))
    return std::nullopt;
  return std::move(means.found);
}

} // namespace dlc

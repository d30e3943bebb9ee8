// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/TrainingLoss.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::Expr;

namespace dlc {
namespace {

/// Replaces 0 by 1, so that an empty sum can be divided by it.
Expr nonZero(Expr x) { return select(x == 0, 1, x); }

/// Moves the ops that compute `values` to the beginning of the function.
/// Returns the first op after them.
Operation *moveToBegin(Block &block, ArrayRef<Value> values) {
  llvm::SetVector<Operation *> needed;
  for (Value v : values)
    if (Operation *op = v.getDefiningOp())
      needed.insert(op);
  for (size_t i = 0; i < needed.size(); ++i)
    for (Value operand : SmallVector<Value>(needed[i]->getOperands()))
      if (Operation *op = operand.getDefiningOp())
        needed.insert(op);
  Operation *behind = &block.front();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!needed.contains(&op))
      continue;
    if (&op == behind)
      behind = op.getNextNode();
    else
      op.moveBefore(behind);
  }
  return behind;
}

/// The divisors of a step.
class Divisors {
public:
  Divisors(func::FuncOp f, ArrayRef<TrainedLoss> losses) : f(f) {
    for (const TrainedLoss &loss : losses)
      for (const LossMean &mean : loss.means)
        if (mean.division)
          found.insert({mean.division, &mean});
  }

  bool empty() const { return found.empty(); }

  /// Keeps the divisors of this batch from 0, if there are no other batches.
  void keepFromZero() {
    llvm::MapVector<Value, Value> made; // one per divisor
    for (auto [division, mean] : found) {
      Value &divisor = made[division.getB()];
      if (!divisor) {
        OpBuilder b(division);
        divisor = nonZero(Expr(b, division.getLoc(), division.getB())).v;
      }
      division.getBMutable().assign(divisor);
    }
  }

  /// The divisors of all batches, in the order of the divisions.
  SmallVector<Value> ofAll() {
    sumOverRanks();
    SmallVector<Value> made;
    for (auto [division, mean] : found) {
      OpBuilder b(division);
      const Location loc = division.getLoc();
      auto part = [&](size_t at) {
        return ir::sliceOf(Expr(b, loc, sums), 0, int64_t(at));
      };
      const Divisor &divisor = mean->divisor;
      const auto place = llvm::find(wholes, divisor.whole) - wholes.begin();
      Expr whole = part(size_t(place)), many = part(wholes.size());
      Expr all =
          divisor.isMean ? divisor.of(whole / many) : divisor.of(whole) / many;
      Expr own(b, loc, division.getB());
      made.push_back(
          nonZero(all).cast(elementType(own)).reshape(own.shape()).v);
    }
    return made;
  }

  void divideBy(ArrayRef<Value> divisors) {
    for (auto [at, divisor] : llvm::zip(found, divisors))
      ir::DivOp(at.first).getBMutable().assign(divisor);
  }

  /// The only divisor, a scalar.
  Value own() const {
    ir::DivOp division = found.front().first;
    OpBuilder b(division);
    return Expr(b, division.getLoc(), division.getB()).reshape({}).v;
  }

private:
  /// [sum of each divisor over ranks..., number of ranks], in f64.
  void sumOverRanks() {
    for (auto [division, mean] : found)
      if (!llvm::is_contained(wholes, mean->divisor.whole))
        wholes.push_back(mean->divisor.whole);
    OpBuilder b(moveToBegin(f.front(), wholes));
    const Type f64 = b.getF64Type();
    SmallVector<Expr> parts;
    for (Value whole : wholes)
      parts.push_back(Expr(b, whole.getLoc(), whole).cast(f64).reshape({1}));
    parts.push_back(
        parts[0].make<ir::ConstantOp>(1, RankedTensorType::get({1}, f64)));
    Expr joined = ir::joined(parts, 0);
    sums = ir::AllReduceOp::create(b, joined.loc, joined.type(), joined,
                                   nullptr, nullptr, ir::Combine::sum);
  }

  func::FuncOp f;
  llvm::MapVector<ir::DivOp, const LossMean *> found;
  SmallVector<Value> wholes;
  Value sums;
};

/// Whether all means are divided by one value.
bool haveOneDivisor(ArrayRef<TrainedLoss> losses) {
  llvm::DenseSet<Value> divisors;
  for (const TrainedLoss &loss : losses)
    for (const LossMean &mean : loss.means)
      divisors.insert(mean.division ? ir::DivOp(mean.division).getB()
                                    : Value());
  return divisors.size() == 1;
}

LogicalResult refuse(func::FuncOp f, ArrayRef<TrainedLoss> losses,
                     int64_t count) {
  SmallVector<std::string> names;
  for (const TrainedLoss &loss : losses)
    if (!loss.name.empty())
      names.push_back("'" + loss.name + "'");
  const std::string which =
      names.size() > 1 ? "the losses " + llvm::join(names, ", ") + " have"
                       : "the means that the graph's loss adds up have";
  return f.emitError() << "--accumulate=" << count
                       << " divides what micro-batches add up once, by the "
                          "weights of all their rows, but "
                       << which
                       << " different weights; compile without --accumulate, "
                          "with a larger --batch or --ddp, which divide each "
                          "by its own";
}

/// Repeats the samples' numbers for their rows: [R].
Expr ofEachRow(Expr present, Expr rows) {
  const int64_t count = rows.type().getNumElements(),
                samples = present.shape()[0];
  return present.cast(elementType(rows))
      .reshape({samples, 1})
      .broadcast({samples, count / samples})
      .reshape({count});
}

} // namespace

TrainedLoss trainedOfRows(Expr rows, Value weight, Value present) {
  std::optional<Expr> each;
  if (present)
    each = ofEachRow(Expr(*rows.b, rows.loc, present), rows);
  if (!weight) {
    Expr loss =
        each ? (rows.reshape({rows.type().getNumElements()}) * *each).mean({0})
             : rows.mean(ir::axesBetween(0, rows.rank()));
    return {loss, {{rows.v}}};
  }
  Expr weights(*rows.b, rows.loc, weight);
  if (each) {
    Expr counts = (*each > 0).cast(elementType(rows));
    rows = rows * counts;
    weights = weights * counts;
  }
  Expr sum = rows.sum({0}), whole = weights.sum({0}), loss = sum / whole;
  return {loss,
          {{rows.v, weights.v, 1, loss.v.getDefiningOp<ir::DivOp>(),
            Divisor{whole.v}}}};
}

TrainedLoss trainedOfGraph(Expr loss, int64_t samples) {
  auto means = meansOf(loss, samples);
  return {loss.reshape({}), means ? *means : LossMeans{{loss.v}}};
}

LogicalResult divideByAll(func::FuncOp f, ArrayRef<TrainedLoss> losses,
                          const StepOptions &options) {
  Divisors divisors(f, losses);
  if (divisors.empty())
    return success();
  const int64_t count = options.accumulate.count;
  if (count > 1 && !haveOneDivisor(losses))
    return refuse(f, losses, count);
  if (count <= 1 && options.allReduce.partners() <= 1) {
    divisors.keepFromZero();
    return success();
  }
  SmallVector<Value> all = divisors.ofAll();
  if (count <= 1) {
    divisors.divideBy(all);
    return success();
  }
  divisors.keepFromZero();
  OpBuilder b(f.getContext());
  b.setInsertionPointAfterValue(all[0]);
  addResult(f, divisors.own(), kOwnDivisor);
  addResult(f, Expr(b, all[0].getLoc(), all[0]).reshape({}), kWholeDivisor);
  return success();
}

} // namespace dlc

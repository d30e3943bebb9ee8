// SPDX-License-Identifier: Apache-2.0
// Dropout and noise become functions of state: of a key from the seed and the
// rank, and of a draw counter that advances with each training step. So every
// step and every rank has other numbers, and a run resumes exactly. Outside of
// @train_step dropout is the identity.
#include "passes/Passes.h"
#include "passes/Step.h"
#include <numbers>

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_RANDOMIZE
#include "passes/Passes.h.inc"
namespace {

using ir::Expr;

/// The random numbers of one function: a draw for each of `count` tensors.
class Draws {
public:
  Draws(func::FuncOp f, int64_t seed, size_t count) {
    OpBuilder b = OpBuilder::atBlockBegin(&f.front());
    auto scalar = RankedTensorType::get({}, b.getI64Type());
    auto read = [&](StringRef state) {
      return Expr(b, f.getLoc(),
                  ir::ReadOp::create(b, f.getLoc(), scalar, state));
    };
    auto constant = [&](int64_t value) {
      auto attribute = DenseElementsAttr::get(scalar, ArrayRef(value));
      return Expr(b, f.getLoc(),
                  ir::ConstantOp::create(b, f.getLoc(), scalar, attribute));
    };
    Expr next = read("rng.draw"), one = constant(1);
    numbers.push_back(next);
    for (size_t i = 0; i < count; ++i)
      numbers.push_back(next = next + one);
    Expr rank = read("rng.rank"), factor = constant(int64_t(1) << 32),
         base = constant(seed);
    key = rank * factor + base;
  }

  ir::UniformOp draw(OpBuilder &b, Location at, RankedTensorType type) {
    auto index = RankedTensorType::get(type.getShape(), b.getI64Type());
    auto position = ir::PositionOp::create(b, at, index);
    return ir::UniformOp::create(b, at, position, numbers[used++], key);
  }
  Value end() const { return numbers.back(); }

private:
  SmallVector<Value> numbers; // draw numbers, and the next one
  Value key;
  size_t used = 0;
};

struct Randomize : impl::RandomizeBase<Randomize> {
  Randomize() { reads<&StepOptions::random>(); }

  void runOnOperation() final {
    // None in a program that only predicts.
    auto train = getOperation().lookupSymbol<func::FuncOp>("train_step");
    for (auto f : getOperation().getOps<func::FuncOp>())
      for (auto op : llvm::to_vector(f.getOps<ir::DropoutOp>()))
        if (f != train || op.getRatio().isZero()) {
          op.replaceAllUsesWith(op.getX());
          op.erase();
        }
    for (auto f : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (countRandom(f) && failed(randomize(f, f == train)))
        return signalPassFailure();
  }

  static size_t countRandom(func::FuncOp f) {
    return llvm::range_size(f.getOps<ir::DropoutOp>()) +
           llvm::range_size(f.getOps<ir::NoiseOp>());
  }

  LogicalResult randomize(func::FuncOp f, bool isTraining) {
    Step step(f);
    if (!added && (!step.addScalar("rng.draw", step.builder.getI64Type(),
                                   ir::Role::step, 0) ||
                   !step.rank()))
      return failure();
    added = true;
    Draws draws(f, options.random.seed, countRandom(f));
    for (Operation &op : llvm::make_early_inc_range(f.front())) {
      OpBuilder b(&op);
      Value y;
      if (auto dropout = dyn_cast<ir::DropoutOp>(op))
        y = drop(b, dropout, draws);
      else if (auto noise = dyn_cast<ir::NoiseOp>(op))
        y = sample(b, noise, draws);
      else
        continue;
      op.getResult(0).replaceAllUsesWith(y);
      op.erase();
    }
    if (isTraining)
      step.write(step.findState("rng.draw"), draws.end());
    return success();
  }

  static Value drop(OpBuilder &b, ir::DropoutOp op, Draws &draws) {
    Expr x(b, op.getLoc(), op.getX());
    SmallVector<int64_t> shape(x.shape());
    for (int64_t d : op.getShared())
      shape[d] = 1;
    double ratio = op.getRatio().convertToDouble();
    Expr u(b, x.loc, draws.draw(b, x.loc, x.type().clone(shape)).getU());
    Expr kept = u >= ratio;
    return select(kept, x * (ratio < 1 ? 1 / (1 - ratio) : 0), 0);
  }

  /// Normally distributed numbers by the Box-Muller transform.
  static Value sample(OpBuilder &b, ir::NoiseOp op, Draws &draws) {
    auto type = cast<RankedTensorType>(op.getType());
    ir::UniformOp drawn = draws.draw(b, op.getLoc(), type);
    Expr u(b, op.getLoc(), drawn.getU()), v(b, op.getLoc(), drawn.getV());
    if (op.getNormal())
      u = sqrt(log(1.0 - u) * -2.0) * cos(v * (2 * std::numbers::pi));
    return u.cast(type.getElementType());
  }

  bool added = false;
};

} // namespace

} // namespace dlc

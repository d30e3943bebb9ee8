// SPDX-License-Identifier: Apache-2.0
// Steps whose loss or gradient norm is an outlier change nothing: llm.c's
// detector (llmc/outlier_detector.h) as graph.
//   A window holds the last kWindow values, this step's included; the step is
//   an outlier when the window was full before and
//     value - mean > z * sqrt(mean of (x - mean)^2).
// Outliers enter the window, too, so that a lasting change is no outlier for
// long. Values that are not finite do not.
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Predicate;

namespace dlc {
#define GEN_PASS_DEF_SKIPOUTLIERS
#include "passes/Passes.h.inc"
namespace {

constexpr int64_t kWindow = 128;

struct SkipOutliers : impl::SkipOutliersBase<SkipOutliers> {
  SkipOutliers() { reads<&StepOptions::outlier>(); }

  void runOnOperation() final {
    const OutlierOptions &o = options.outlier;
    if (o.lossZ == 0 && o.gradientZ == 0)
      return;
    auto f = findFunction(getOperation(), "train_step");
    if (!f || failed(skip(f)))
      signalPassFailure();
  }

  LogicalResult skip(func::FuncOp f) {
    Step step(f);
    std::optional<Expr> outlier;
    for (auto [result, z] :
         {std::pair("loss", options.outlier.lossZ),
          std::pair("grad_norm", options.outlier.gradientZ)}) {
      if (z == 0)
        continue;
      FailureOr<Expr> found = detect(step, result, z);
      if (failed(found))
        return failure();
      outlier = outlier ? found->make<ir::OrOp>(outlier->v, found->v) : *found;
    }
    addResult(f, outlier->cast(step.builder.getF32Type()), "skipped");
    step.updateOnlyIf(outlier->make<ir::NotOp>(outlier->v));
    return success();
  }

  FailureOr<Expr> detect(Step &step, StringRef result, double z) {
    Value found = step.findResult(result);
    if (!found)
      return step.f.emitError()
             << "the step has no result '" << result << "' to find outliers of";
    OpBuilder &b = step.builder;
    Type f32 = b.getF32Type(), f64 = b.getF64Type();
    auto row = RankedTensorType::get({kWindow}, f32);
    std::string name = ("outlier." + result).str();
    ir::StateOp window =
        step.addState(name, row, ir::Role::step, b.getF32FloatAttr(0));
    ir::StateOp counter =
        step.addScalar(name + ".count", b.getI64Type(), ir::Role::step, 0);
    if (!window || !counter)
      return failure();
    Expr value = step.expr(found).cast(f32);
    Expr count = step.read(counter);
    Expr finite = value.make<ir::IsFiniteOp>(value.v);
    Expr values = push(step, step.read(window), value, count, finite);
    step.write(window, values);
    step.write(counter, select(finite, count + count.scalar(1), count));
    Expr x = values.cast(f64);
    Expr mean = x.mean({0});
    Expr far = x - mean;
    Expr limit = sqrt((far * far).mean({0})) * z;
    Expr full = compare(Predicate::ge, count, count.scalar(kWindow));
    return both(full, compare(Predicate::gt, value.cast(f64) - mean, limit));
  }

  /// `old` with the value at count modulo the window's size, if it is finite.
  static Expr push(Step &step, Expr old, Expr value, Expr count, Expr finite) {
    Type f64 = step.builder.getF64Type();
    Expr turns = count.cast(f64) / double(kWindow);
    Expr position =
        count.cast(f64) - turns.make<ir::FloorOp>(turns.v) * double(kWindow);
    auto type = RankedTensorType::get({kWindow}, step.builder.getI64Type());
    Expr index = old.make<ir::IotaOp>(type, int64_t(0)).cast(f64);
    Expr here = compare(Predicate::eq, index, position);
    Expr pushed = both(here, finite.broadcast({kWindow}));
    return select(pushed, value.broadcast({kWindow}), old);
  }
};

} // namespace

} // namespace dlc

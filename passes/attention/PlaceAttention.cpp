// Says of each attention who computes it on a GPU; one that nobody can becomes
// products and softmax, before its gradient is made.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/attention/Attention.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_PLACEATTENTION
#include "passes/Passes.h.inc"

namespace {

struct PlaceAttention : impl::PlaceAttentionBase<PlaceAttention> {
  explicit PlaceAttention(PlaceAttentionOptions given = {})
      : PlaceAttentionBase(std::move(given)) {
    reads<&StepOptions::attention, &StepOptions::target, &StepOptions::amp>();
  }

  void runOnOperation() final {
    target = makeTarget(options.target);
    by = whoAttends(options, *target);
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      auto ops = llvm::to_vector(f.getOps<ir::AttentionOp>());
      for (ir::AttentionOp op : ops)
        if (failed(place(op)))
          return signalPassFailure();
      if (!ops.empty())
        eraseUnused(f.front());
    }
  }

private:
  LogicalResult place(ir::AttentionOp op) {
    if (!by) {
      expand(op);
      return success();
    }
    auto why = target->whyNoAttention(*by, ir::tensorType(op.getQ()),
                                      dimsOf(op), typed);
    if (why && options.attention.isStrict())
      return op.emitError()
             << "--attention=" << textOf(*by) << " cannot be: " << *why
             << "; use --attention=auto to leave it as products and softmax";
    if (why)
      expand(op);
    else if (typed)
      keep(op);
    return success();
  }

  static ir::AttentionDims dimsOf(ir::AttentionOp op) {
    return ir::AttentionDims(ir::tensorType(op.getQ()),
                             ir::tensorType(op.getK()),
                             ir::tensorType(op.getV()), op.getLayout());
  }
  static void expand(ir::AttentionOp op) {
    OpBuilder b(op);
    op->replaceAllUsesWith(cast<ir::DecomposableInterface>(*op).decompose(b));
    op->erase();
  }

  void keep(ir::AttentionOp op) {
    op.setBy(textOf(*by));
    if (by == By::Library)
      target->fitCall(op);
  }

  static void eraseUnused(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  std::shared_ptr<const Target> target;
  std::optional<By> by;
};

} // namespace

std::optional<By> whoAttends(const StepOptions &options, const Target &target) {
  const bool isOpen = options.attention.by == "auto";
  return isOpen && options.amp.enabled() && target.prefersAttention()
             ? By::Library
             : parseBy(options.attention.by);
}

} // namespace dlc

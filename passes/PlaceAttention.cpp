// Says of each attention who computes it on a GPU; one that nobody can becomes
// products and softmax, before its gradient is made.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/AttentionSupport.h"
#include "passes/Passes.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_PLACEATTENTION
#include "passes/Passes.h.inc"

namespace {

struct PlaceAttention : impl::PlaceAttentionBase<PlaceAttention> {
  explicit PlaceAttention(PlaceAttentionOptions given = {})
      : PlaceAttentionBase(std::move(given)) {
    options.attention.available = true;
    reads<&StepOptions::attention>();
  }

  void runOnOperation() final {
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
    const std::string by = options.attention.who();
    if (by == "off") {
      expand(op);
      return success();
    }
    auto why = whyNoAttention(by, ir::tensorType(op.getQ()), dimsOf(op), typed);
    if (why && options.attention.isStrict())
      return op.emitError()
             << "--attention=" << by << " cannot be: " << *why
             << "; use --attention=auto to leave it as products and softmax";
    if (why)
      expand(op);
    else if (typed)
      keep(op, by);
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

  void keep(ir::AttentionOp op, StringRef by) {
    op.setBy(by);
    if (by == "library" && op.getMask())
      giveLibraryMask(op);
  }
  /// cuDNN adds masks of the operands' type, one number a score, and a query
  /// that sees no key would become NaN there: it gets the lowest numbers, and 0
  /// as its result.
  static void giveLibraryMask(ir::AttentionOp op) {
    OpBuilder b(op);
    Expr mask(b, op.getLoc(), op.getMask());
    Type half = ir::elementType(op.getQ());
    if (mask.type().getElementType().isInteger(1)) {
      Expr zero(
          b, op.getLoc(),
          ir::ConstantOp::create(b, op.getLoc(), 0.0,
                                 RankedTensorType::get({}, b.getF32Type())));
      mask = select(mask, zero, zero.scalar(-INFINITY));
    }
    const SmallVector<int64_t> keys{3};
    Expr blind = compare(ir::Predicate::eq, mask.max(keys, true),
                         mask.scalar(-INFINITY));
    bool inexact;
    APFloat lowest =
        APFloat::getLargest(cast<FloatType>(half).getFloatSemantics(), true);
    lowest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &inexact);
    Expr least = mask.scalar(lowest.convertToDouble());
    Expr finite = mask.make<ir::MaxOp>(mask.v, least.v).cast(half);
    SmallVector<int64_t> shape(finite.shape());
    const ir::AttentionDims dims = dimsOf(op);
    shape[2] = dims.queries, shape[3] = dims.keys;
    finite = finite.broadcast(shape);
    op.getMaskMutable().assign(finite.v);
    if (op.getLayout() == "bthd") {
      const SmallVector<int64_t> perm{0, 2, 1, 3};
      blind = blind.make<ir::TransposeOp>(blind.v, perm);
    }
    b.setInsertionPointAfter(op);
    Expr y(b, op.getLoc(), op.getY());
    Expr seen = select(blind, y.scalar(0), y);
    op.getY().replaceAllUsesExcept(seen.v, seen.v.getDefiningOp());
  }

  static void eraseUnused(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace

} // namespace dlc

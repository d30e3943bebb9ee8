// SPDX-License-Identifier: Apache-2.0
// Finds work that a library's product can do in the same call:
//
//   y = relu|gelu(a b + bias)         matmul's activation; of gelu, if its
//                                     gradient reads a b + bias,
//                                     matmul_activation
//   dw = x' dy, sum over rows of dy   matmul_bias_backward
//
// Gradients of activations remain separate kernels: for relu the library passes
// them at 0, and its products with that of gelu are slower than both kernels
// (compiler/target/cuda/Epilogues.cpp).
#include "compiler/dialect/Epilogues.h"
#include "compiler/lower/ColumnParts.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/PlacingPass.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_MATMULEPILOGUES
#include "compiler/lower/Passes.h.inc"

namespace {

int64_t columnsOf(Value v) { return tensorType(v).getShape().back(); }

/// `v` or the value that it is a view of, if both have the same rows.
Value rowsOf(Value v) {
  while (auto view = v.getDefiningOp<ir::ReshapeOp>()) {
    if (tensorType(v).getRank() == 0 ||
        tensorType(view.getX()).getRank() == 0 ||
        columnsOf(v) != columnsOf(view.getX()))
      break;
    v = view.getX();
  }
  return v;
}

/// The name of an activation in ops; gelu means its tanh form.
StringRef nameOf(Operation *activation) {
  return isa<ir::ReluOp>(activation) ? "relu" : "gelu_tanh";
}

void eraseDead(Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Operation *> operands;
  for (Value v : op->getOperands())
    if (Operation *def = v.getDefiningOp();
        def && !llvm::is_contained(operands, def))
      operands.push_back(def);
  op->erase();
  for (Operation *def : operands)
    eraseDead(def);
}

/// Replaces `old` by `by`, which has the same elements.
void replace(OpBuilder &builder, Value old, Value by) {
  if (old.getType() != by.getType())
    by = ir::ReshapeOp::create(builder, old.getLoc(), old.getType(), by);
  old.replaceAllUsesWith(by);
  eraseDead(old.getDefiningOp());
}

Location locate(Operation *a, Operation *b) {
  return FusedLoc::get(a->getContext(), {a->getLoc(), b->getLoc()});
}

class Epilogues {
public:
  Epilogues(Block &block, const Target &target, Placer &placer)
      : block(block), target(target), placer(placer) {}

  /// Fails if an epilogue is not possible in the way that the user asked for.
  LogicalResult run() {
    SmallVector<Operation *> activations, sums;
    for (Operation &op : block) {
      if (isa<ir::ReluOp, ir::GeluOp>(op))
        activations.push_back(&op);
      if (isa<ir::ReduceSumOp>(op))
        sums.push_back(&op);
    }
    for (Operation *op : activations)
      takeActivation(op);
    for (Operation *op : sums)
      takeSum(cast<ir::ReduceSumOp>(op));
    return failure(isRefused);
  }

private:
  /// Chooses whether the library's product also computes `epilogue`, including
  /// `kept` for the gradient. Otherwise a generated product computes it or, if
  /// `apart` is not 0, a kernel of its own that streams that many bytes.
  Choice choose(ir::MatmulOp product, Operation *epilogue, Value kept,
                double apart, Ways &ways) const {
    ways = target.waysOfEpilogue(product, epilogue, kept);
    auto wish = placer.wishFor("matmul", product.getLoc());
    if (product.getBy() == ir::By::Generated ||
        (wish && wish->by == "generated"))
      ways.front().whyNot = "its product is a generated kernel";
    else if (!wish && ways.front().whyNot.empty() &&
             ir::isHalf(ir::elementType(product.getY())))
      price(product, kept ? bytesOf(kept) : 0, apart, ways);
    return placer.choose("matmul-epilogue", epilogue->getLoc(), ways);
  }
  /// The same, and records the choice.
  bool isTaken(ir::MatmulOp product, Operation *epilogue, Value kept,
               double apart) {
    Ways ways;
    const Choice choice = choose(product, epilogue, kept, apart, ways);
    isRefused |= failed(placer.take("matmul-epilogue", epilogue, choice, ways));
    return choice.by == ir::By::Library;
  }
  void price(ir::MatmulOp op, double kept, double apart, Ways &ways) const {
    const ProductShape shape = shapeOf(op);
    const double bytes = trafficOf(op) + kept, rest = around(op);
    const bool isSum = apart > 0;
    double without = target.generatedProduct(shape, bytes, {}, {});
    if (isSum)
      without = std::min(without, target.libraryProduct(shape, bytes, false) +
                                      rest + target.streaming(apart));
    for (Way &way : ways)
      way.seconds = way.by == ir::By::Library
                        ? target.libraryProduct(shape, bytes, isSum) + rest
                        : without;
  }
  /// The time of separate kernels for operands that only products read, and for
  /// the cast of a gradient: a generated kernel would include them.
  double around(ir::MatmulOp op) const {
    double sum = 0;
    for (Value v : op->getOperands()) {
      auto users = v.getUsers();
      if (Operation *def = v.getDefiningOp();
          def && ir::isElementwise(def) &&
          llvm::all_of(users, llvm::IsaPred<ir::MatmulOp>))
        sum += target.streaming(trafficOf(def)) /
               std::distance(users.begin(), users.end());
    }
    if (op.getY().hasOneUse() && isa<ir::CastOp>(*op.getY().user_begin()))
      sum += target.streaming(trafficOf(*op.getY().user_begin()));
    return sum;
  }

  /// The product whose only use is `activation`.
  static ir::MatmulOp productOf(Operation *activation) {
    Value x = activation->getOperand(0);
    auto product = rowsOf(x).getDefiningOp<ir::MatmulOp>();
    if (!product || product.getActivation())
      return nullptr;
    for (Value v = x; v != product.getY();
         v = v.getDefiningOp<ir::ReshapeOp>().getX())
      if (v != x && !v.hasOneUse())
        return nullptr;
    bool isLone = x == product.getY() || product.getY().hasOneUse();
    return isLone ? product : nullptr;
  }

  /// gelu(forward) as one call; returns its operand.
  Value keep(ir::MatmulOp forward, Operation *activation) {
    OpBuilder builder(forward);
    Type type = forward.getY().getType();
    auto made = ir::MatmulActivationOp::create(
        builder, locate(forward, activation), TypeRange{type, type},
        forward.getA(), forward.getB(), forward.getBias(),
        forward.getTransAAttr(), forward.getTransBAttr(),
        builder.getStringAttr(nameOf(activation)));
    replace(builder, activation->getResult(0), made.getY());
    return made.getKept();
  }

  /// Fuses an activation into its product, which keeps its own result for other
  /// uses.
  void takeActivation(Operation *activation) {
    ir::MatmulOp product = productOf(activation);
    Value x = activation->getOperand(0);
    const bool isRead = !x.hasOneUse();
    // The library does not store the operand of a relu.
    if (!product || (isRead && isa<ir::ReluOp>(activation)) ||
        !isTaken(product, activation, isRead ? x : Value(), 0))
      return;
    OpBuilder builder(product);
    if (isRead) {
      Value kept = keep(product, activation);
      replace(builder, x, kept);
      return;
    }
    auto made = cast<ir::MatmulOp>(builder.clone(*product));
    made->setLoc(locate(product, activation));
    made.setActivation(nameOf(activation));
    made.setBy(ir::By::Library);
    replace(builder, activation->getResult(0), made.getY());
  }

  /// Fuses a sum over all rows of a gradient into a product that reads it.
  void takeSum(ir::ReduceSumOp sum) {
    auto type = tensorType(sum.getX());
    if (static_cast<int64_t>(sum.getAxes().size()) != type.getRank() - 1 ||
        llvm::is_contained(sum.getAxes(), type.getRank() - 1) ||
        type.getElementType() != ir::elementType(sum.getY()))
      return;
    Value rows = rowsOf(sum.getX());
    auto bias = RankedTensorType::get({columnsOf(rows)}, type.getElementType());
    SmallVector<Value> views{rows};
    for (size_t i = 0; i < views.size(); ++i)
      for (Operation *user : views[i].getUsers()) {
        if (auto view = dyn_cast<ir::ReshapeOp>(user);
            view && rowsOf(view.getY()) == rows)
          views.push_back(view.getY());
        else if (auto product = dyn_cast<ir::MatmulOp>(user);
                 product && sumWith(product, views[i], sum, bias))
          return;
      }
  }
  /// Bytes that a separate kernel would read for the sum: only partial sums, if
  /// it can run in the kernel of a norm that computes the gradient
  /// (dlc-store-summed).
  double bytesApart(ir::ReduceSumOp sum) const {
    constexpr size_t kMost = 8;
    const int64_t columns = columnsOf(sum.getX()),
                  rows = tensorType(sum.getX()).getNumElements() / columns;
    SmallVector<Value> values{sum.getX()}; // which the gradient is the sum of
    auto isOfNorm = [](Value v) {
      auto norm = v.getDefiningOp<ir::LayerNormBackwardOp>();
      return norm && v == norm.getDx() &&
             norm.getAxis() == tensorType(v).getRank() - 1;
    };
    for (size_t i = 0; i < values.size() && values.size() < kMost; ++i)
      if (Operation *op = values[i].getDefiningOp();
          isa_and_nonnull<ir::AddOp, ir::ReshapeOp>(op))
        llvm::append_range(values, op->getOperands());
    const bool isBeside =
        target.lowering().storesSummed && columns <= kMostColumns &&
        rows >= kFewestParts * kPartRows && llvm::any_of(values, isOfNorm);
    return isBeside ? 2.0 * sizeof(float) * kMostParts * columns
                    : bytesOf(sum.getX());
  }
  bool sumWith(ir::MatmulOp product, Value gradient, ir::ReduceSumOp sum,
               Type bias) {
    const bool isA = product.getA() == gradient && product.getTransA(),
               isB = product.getB() == gradient && !product.getTransB();
    bool fits = isA != isB && !product.getBias() && !product.getActivation() &&
                tensorType(product.getA()).getRank() == 2 &&
                llvm::all_of(sum->getUsers(), [&](Operation *user) {
                  return product->isBeforeInBlock(user);
                });
    if (!fits || !isTaken(product, sum, Value(), bytesApart(sum)))
      return false;
    OpBuilder builder(product);
    auto made = ir::MatmulBiasBackwardOp::create(
        builder, locate(product, sum),
        TypeRange{product.getY().getType(), bias}, product.getA(),
        product.getB(), product.getTransAAttr(), product.getTransBAttr(),
        builder.getStringAttr(isA ? "a" : "b"));
    product.getY().replaceAllUsesWith(made.getY());
    product.erase();
    replace(builder, sum.getY(), made.getDbias());
    return true;
  }

  Block &block;
  const Target &target;
  Placer &placer;
  bool isRefused = false;
};

struct MatmulEpilogues : impl::MatmulEpiloguesBase<MatmulEpilogues> {
  LogicalResult place(func::FuncOp f, const Target &target,
                      Placer &placer) final {
    return Epilogues(f.front(), target, placer).run();
  }
};

} // namespace

} // namespace dlc

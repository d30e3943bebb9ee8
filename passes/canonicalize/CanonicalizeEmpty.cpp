// SPDX-License-Identifier: Apache-2.0
// Removes tensors without elements, so that no kernel or library call sees one.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/canonicalize/CanonicalizePatterns.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
namespace {

bool isEmpty(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 0;
}

bool isOfDialect(Operation *op) {
  return isa_and_nonnull<ir::DlcDialect>(op->getDialect());
}

Attribute numberOf(Type element, double value) {
  if (auto real = dyn_cast<FloatType>(element))
    return FloatAttr::get(real, value);
  return IntegerAttr::get(element, int64_t(value));
}

/// The smallest or largest number of a type.
Attribute limitOf(Type element, bool least) {
  if (isa<FloatType>(element)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return numberOf(element, least ? -infinity : infinity);
  }
  const unsigned bits = element.getIntOrFloatBitWidth();
  if (bits <= 8) // without a sign
    return IntegerAttr::get(element, least ? APInt::getZero(bits)
                                           : APInt::getMaxValue(bits));
  return IntegerAttr::get(element, least ? APInt::getSignedMinValue(bits)
                                         : APInt::getSignedMaxValue(bits));
}

/// Empty results become empty constants.
struct EmptyResults : RewritePattern {
  explicit EmptyResults(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isOfDialect(op) || op->getNumResults() == 0 ||
        isa<ir::ConstantOp, ir::ReadOp>(op) || !isMemoryEffectFree(op) ||
        !llvm::any_of(op->getResults(), isEmpty) ||
        !llvm::all_of(op->getResults(), [](Value result) {
          return isEmpty(result) || result.use_empty();
        }))
      return failure();
    SmallVector<Value> shapes;
    for (Value result : op->getResults()) {
      RankedTensorType type = tensorType(result);
      shapes.push_back(ir::ConstantOp::create(
          rewriter, op->getLoc(), type,
          DenseElementsAttr::get(type, numberOf(type.getElementType(), 0))));
    }
    rewriter.replaceOp(op, shapes);
    return success();
  }
};

/// An op whose result does not depend on an empty operand.
template <typename Op> struct OfNothing : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || isEmpty(op->getResult(0)) ||
        llvm::none_of(op->getOperands(), isEmpty))
      return failure();
    RankedTensorType type = tensorType(op->getResult(0));
    Attribute value = valueOf(op, type.getElementType());
    if (!value)
      return failure();
    rewriter.replaceOpWithNewOp<ir::ConstantOp>(
        op, type, DenseElementsAttr::get(type, value));
    return success();
  }

private:
  /// The value of all elements of the result; null if they differ.
  static Attribute valueOf(Op op, Type element) {
    auto number = [&](double value) { return numberOf(element, value); };
    if constexpr (std::is_same_v<Op, ir::PadOp>)
      return number(op.getValue().convertToDouble());
    else if constexpr (std::is_same_v<Op, ir::ReduceMaxOp>)
      return limitOf(element, true);
    else if constexpr (std::is_same_v<Op, ir::ReduceMinOp>)
      return limitOf(element, false);
    else if constexpr (std::is_same_v<Op, ir::ReduceMeanOp>)
      return number(std::nan(""));
    else if constexpr (std::is_same_v<Op, ir::MatmulOp> ||
                       std::is_same_v<Op, ir::ConvOp>)
      return op.getBias() ? Attribute() : number(0);
    else
      return number(0); // a sum
  }
};

/// A product with depth 0 becomes its bias.
struct BiasAlone : OpRewritePattern<ir::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getBias() || op.getActivation() || isEmpty(op.getY()) ||
        !isEmpty(op.getA()))
      return failure();
    rewriter.replaceOpWithNewOp<ir::BroadcastOp>(op, op.getType(),
                                                 op.getBias());
    return success();
  }
};

struct JoinTheRest : OpRewritePattern<ir::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> rest;
    for (Value x : op.getXs())
      if (!isEmpty(x))
        rest.push_back(x);
    if (rest.empty() || rest.size() == op.getXs().size())
      return failure();
    if (rest.size() == 1)
      rewriter.replaceOp(op, rest);
    else
      rewriter.replaceOpWithNewOp<ir::ConcatOp>(op, op.getType(), rest,
                                                op.getAxis());
    return success();
  }
};

} // namespace

void addEmptyPatterns(RewritePatternSet &set) {
  set.add<EmptyResults, BiasAlone, JoinTheRest, OfNothing<ir::PadOp>,
          OfNothing<ir::ReduceSumOp>, OfNothing<ir::ReduceMaxOp>,
          OfNothing<ir::ReduceMinOp>, OfNothing<ir::ReduceMeanOp>,
          OfNothing<ir::ScatterAddOp>, OfNothing<ir::MatmulOp>,
          OfNothing<ir::ConvOp>, OfNothing<ir::ConvBackwardDataOp>,
          OfNothing<ir::ConvBackwardFilterOp>>(set.getContext());
}

LogicalResult refuseEmpty(func::FuncOp function) {
  auto walked = function.walk([](Operation *op) {
    if (!isOfDialect(op) || op->getNumResults() == 0)
      return WalkResult::advance();
    for (Value x : op->getOperands())
      if (isEmpty(x)) {
        op->emitError() << "reads a tensor without elements, "
                        << cast<ShapedType>(x.getType())
                        << ", of which it has no result";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace dlc

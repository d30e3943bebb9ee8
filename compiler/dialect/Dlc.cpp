// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Epilogues.h"
#include "compiler/dialect/Infer.h"
#include "compiler/dialect/LibraryNorm.h"
#include "compiler/dialect/float8/Float8.h"
#include "compiler/dialect/host/HostMemory.h"
#include "compiler/dialect/ops/Custom.h"
#include "compiler/dialect/ops/JointAttention.h"
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/dialect/ops/Split.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

#include "compiler/dialect/DlcDialect.cpp.inc"
#include "compiler/dialect/DlcEnums.cpp.inc"
#include "compiler/dialect/DlcInterfaces.cpp.inc"

// Thousands of functions of a few instructions: optimizing them would take half
// a minute of a build, and saves no time that can be measured.
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("O0")
#endif
#define GET_OP_CLASSES
#include "compiler/dialect/DlcOps.cpp.inc"
#ifndef __clang__
#pragma GCC pop_options
#endif

namespace dlc::ir {

void DlcDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/DlcOps.cpp.inc"
      >();
  registerLibraryNorms(*this);
  registerJointAttention(*this);
  registerEpilogues(*this);
  registerRecurrences(*this);
  registerCustom(*this);
  registerSplits(*this);
  registerHostMemory(*this);
  registerFloat8(*this);
}

Operation *DlcDialect::materializeConstant(OpBuilder &b, Attribute value,
                                           Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements ? ConstantOp::create(b, loc, type, elements) : nullptr;
}

void ConstantOp::build(OpBuilder &odsBuilder, OperationState &odsState,
                       double splat, RankedTensorType type) {
  Type e = type.getElementType();
  Attribute value = isa<FloatType>(e)
                        ? (Attribute)odsBuilder.getFloatAttr(e, splat)
                        : odsBuilder.getIntegerAttr(e, (int64_t)splat);
  build(odsBuilder, odsState, type, DenseElementsAttr::get(type, value));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

Value viewedBy(Value v) {
  while (auto view = v.getDefiningOp<ReshapeOp>())
    v = view.getX();
  return v;
}

// Folds without evaluation, so that weights never become attributes.

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getX().getType() == getY().getType() ? getX() : OpFoldResult();
}

/// Whether `v` is a constant whose elements all equal `x`.
static bool isSplat(Attribute v, double x) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(v);
  if (!dense || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble() == x;
  return dense.getSplatValue<APInt>() == (int64_t)x;
}

OpFoldResult AddOp::fold(FoldAdaptor a) {
  if (isSplat(a.getB(), 0) && getA().getType() == getType())
    return getA();
  if (isSplat(a.getA(), 0) && getB().getType() == getType())
    return getB();
  return {};
}
OpFoldResult MulOp::fold(FoldAdaptor a) {
  if (isSplat(a.getB(), 1) && getA().getType() == getType())
    return getA();
  if (isSplat(a.getA(), 1) && getB().getType() == getType())
    return getB();
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor a) {
  if (auto known = dyn_cast_or_null<DenseElementsAttr>(a.getX()))
    return known.reshape(tensorType(getY()));
  if (auto from = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(from.getX());
    return getResult();
  }
  return getX().getType() == getY().getType() ? getX() : OpFoldResult();
}
OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getX().getType() == getY().getType() ? getX() : OpFoldResult();
}
OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getX().getType() == getY().getType() &&
               llvm::all_of(getSteps(), [](int64_t s) { return s == 1; });
  return whole ? getX() : OpFoldResult();
}
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (auto from = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t p : getPerm())
      perm.push_back(from.getPerm()[p]);
    getXMutable().assign(from.getX());
    setPerm(perm);
    return getResult();
  }
  bool identity = llvm::is_sorted(getPerm());
  return identity ? getX() : OpFoldResult();
}

namespace {
/// global_norm(s * x, s * y, ...) = s * global_norm(x, y, ...), for a scalar s
/// >= 0 such as 1 / loss scale. In f64: the norm of scaled gradients may be
/// larger than any f32 though each of them is finite.
struct PullScaleOutOfNorm : OpRewritePattern<GlobalNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GlobalNormOp op,
                                PatternRewriter &rewriter) const override {
    Value scale;
    SmallVector<Value> inner;
    if (op.getLimit())
      return failure();
    for (Value x : op.getXs()) {
      auto mul = x.getDefiningOp<MulOp>();
      if (!mul || tensorType(mul.getB()).getRank() != 0 ||
          (scale && scale != mul.getB()))
        return failure();
      scale = mul.getB();
      inner.push_back(mul.getA());
    }
    if (!scale)
      return failure();
    auto f64 = RankedTensorType::get({}, rewriter.getF64Type());
    Location loc = op.getLoc();
    Value norm =
        GlobalNormOp::create(rewriter, loc, f64, inner, FloatAttr(), By::Open);
    Value wide = CastOp::create(rewriter, loc, f64, scale);
    Value product = MulOp::create(rewriter, loc, f64, norm, wide);
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), product);
    return success();
  }
};

/// The value of all elements of `v`, if they are equal.
std::optional<double> numberIn(Value v) {
  DenseElementsAttr dense;
  if (!matchPattern(v, m_Constant(&dense)) || !dense.isSplat() ||
      !isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  return dense.getSplatValue<APFloat>().convertToDouble();
}

/// The norm of clamp(x, -c, c), clamp(y, -c, c), ... reads x and y, so that the
/// clamped values need not be stored.
struct ClampInNorm : OpRewritePattern<GlobalNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GlobalNormOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> limit;
    SmallVector<Value> inner;
    for (Value x : op.getXs()) {
      auto above = x.getDefiningOp<MaxOp>();
      auto below = above ? above.getA().getDefiningOp<MinOp>() : MinOp();
      auto low = below ? numberIn(above.getB()) : std::nullopt,
           high = below ? numberIn(below.getB()) : std::nullopt;
      if (!low || !high || *low != -*high || !(*high > 0) ||
          (limit && *limit != *high))
        return failure();
      limit = high;
      inner.push_back(below.getA());
    }
    if (op.getLimit() || !limit)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getXsMutable().assign(inner);
      op.setLimitAttr(rewriter.getF64FloatAttr(*limit));
    });
    return success();
  }
};

/// Ops that accept any float type do not need a widening cast.
template <class Op> struct DropWidening : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    bool changes = false;
    SmallVector<Value> narrow;
    for (Value x : op.getXs()) {
      auto cast = x.getDefiningOp<CastOp>();
      auto from =
          cast ? dyn_cast<FloatType>(elementType(cast.getX())) : FloatType();
      const bool widens =
          from && from.getWidth() < elementType(x).getIntOrFloatBitWidth();
      changes |= widens;
      narrow.push_back(widens ? cast.getX() : x);
    }
    if (!changes)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getXsMutable().assign(narrow); });
    return success();
  }
};
} // namespace

void AllFiniteOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                              MLIRContext *context) {
  results.add<DropWidening<AllFiniteOp>>(context);
}
void GlobalNormOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                               MLIRContext *context) {
  results.add<PullScaleOutOfNorm, ClampInNorm, DropWidening<GlobalNormOp>>(
      context);
}

// Verifiers

LogicalResult CastOp::verify() {
  if (failed(verifyCompatibleShape(getX().getType(), getY().getType())))
    return emitOpError("(C1) expected operand and result of one shape");
  return success();
}
LogicalResult BitCastOp::verify() {
  if (failed(verifyCompatibleShape(getX().getType(), getY().getType())))
    return emitOpError("(C1) expected operand and result of one shape");
  Type x = elementType(getX()), y = elementType(getY());
  Type real = isa<FloatType>(x) ? x : y, whole = isa<FloatType>(x) ? y : x;
  if (!isa<FloatType>(real) || !whole.isInteger(real.isF64() ? 64 : 32))
    return emitOpError("(C2) expected i64 beside f64, or i32 beside another "
                       "float, found ")
           << x << " and " << y;
  return success();
}
LogicalResult IotaOp::verify() {
  int64_t axis = getAxis(), rank = tensorType(getY()).getRank();
  if (axis < 0 || axis >= rank)
    return emitOpError("(C1) axis ") << axis << " is outside of rank " << rank;
  return success();
}
LogicalResult ReshapeOp::verify() {
  auto x = tensorType(getX()), y = tensorType(getY());
  if (x.getElementType() != y.getElementType())
    return emitOpError("(C1) expected one element type");
  if (x.hasStaticShape() && y.hasStaticShape() &&
      x.getNumElements() != y.getNumElements())
    return emitOpError("(C2) expected ")
           << x.getNumElements() << " elements, found " << y.getNumElements();
  return success();
}
LogicalResult BroadcastOp::verify() {
  auto x = tensorType(getX()), y = tensorType(getY());
  bool fits =
      x.getRank() <= y.getRank() && x.getElementType() == y.getElementType();
  for (int64_t i = 1; fits && i <= x.getRank(); ++i) {
    int64_t d = x.getShape().end()[-i];
    fits = d == 1 || d == y.getShape().end()[-i] || ShapedType::isDynamic(d);
  }
  if (!fits)
    return emitOpError("(C1) operand does not broadcast to the result");
  return success();
}
LogicalResult AllReduceOp::verify() {
  if (getX().getType() != getY().getType())
    return emitOpError("(C1) expected result type ") << getX().getType();
  if (getOp() != Combine::mean && getOp() != Combine::sum)
    return emitOpError("(C3) expected mean or sum, found ")
           << stringifyCombine(getOp());
  return success();
}
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto find = [&](FlatSymbolRefAttr name) {
    return name ? symbols.lookupNearestSymbolFrom<StateOp>(*this, name)
                : StateOp();
  };
  StateOp of = find(getOfAttr()), error = find(getErrorAttr()),
          factor = find(getFactorAttr());
  if (getOf() &&
      (!of || of.getRole() != Role::param ||
       failed(verifyCompatibleShape(of.getType(), getX().getType()))))
    return emitOpError("(C2) expected a parameter ")
           << getOfAttr() << " of the shape of " << getX().getType();
  if (!getError() && !getFactor())
    return success();
  auto x = tensorType(getX());
  const bool fits = getBucket() && error && factor && error.getType() == x &&
                    x.getRank() > 1 && factor.getTensorType().getRank() == 2 &&
                    factor.getTensorType().getDimSize(0) * x.getDimSize(0) ==
                        x.getNumElements();
  return fits ? success()
              : emitOpError("(C4) expected an error and a factor of ") << x;
}

// State accesses

static LogicalResult verifyState(Operation *op, FlatSymbolRefAttr name,
                                 Value value, SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op->emitOpError("(C1) expected a state named ") << name;
  if (state.getType() != value.getType())
    return op->emitOpError("(C2) expected ")
           << name << "'s type " << state.getType() << ", found "
           << value.getType();
  return success();
}
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyState(*this, getStateAttr(), getValue(), symbolTable);
}
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyState(*this, getStateAttr(), getValue(), symbolTable);
}
/// The first write of a block checks all of them, so verification is linear.
LogicalResult WriteOp::verify() {
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (isa<WriteOp>(op))
      return success();
  llvm::DenseMap<Attribute, WriteOp> first;
  for (Operation *op = *this; op; op = op->getNextNode())
    if (auto write = dyn_cast<WriteOp>(op)) {
      auto [it, isNew] = first.try_emplace(write.getStateAttr(), write);
      if (isNew)
        continue;
      InFlightDiagnostic d = write.emitOpError("(C3) ");
      d << write.getStateAttr() << " is written twice";
      d.attachNote(it->second.getLoc()) << "the other write";
      return d;
    }
  return success();
}
LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getRows())
    return verifyState(*this, getStateAttr(), getValue(), symbolTable);
  auto state =
      symbolTable.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (!state)
    return emitOpError("(C1) expected a state named ") << getStateAttr();
  return expectRows(getLoc(), "(C3)", "(C3)", getRows(), getValue(),
                    state.getTensorType());
}

} // namespace dlc::ir

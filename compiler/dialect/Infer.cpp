// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Infer.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using llvm::LogicalResult;

namespace dlc::ir {
namespace {

std::string describe(Ints shape) {
  std::string s;
  llvm::raw_string_ostream os(s);
  llvm::interleave(shape, os, "x");
  return s.empty() ? "scalar" : s;
}

} // namespace

bool compatibleTypes(TypeRange inferred, TypeRange actual) {
  if (inferred.size() != actual.size())
    return false;
  for (auto [a, b] : llvm::zip(inferred, actual))
    if (getElementTypeOrSelf(a) != getElementTypeOrSelf(b) ||
        failed(verifyCompatibleShape(a, b)))
      return false;
  return true;
}

bool compatibleOrWide(TypeRange inferred, TypeRange actual) {
  if (compatibleTypes(inferred, actual))
    return true;
  auto half = dyn_cast<RankedTensorType>(inferred.front());
  return half && actual.size() == 1 && isHalf(half.getElementType()) &&
         compatibleTypes(half.clone(Float32Type::get(half.getContext())),
                         actual);
}

LogicalResult sameElements(MaybeLoc loc, StringRef law, ValueRange operands) {
  for (Value v : operands)
    if (elementType(v) != elementType(operands.front()))
      return emitOptionalError(
          loc, law, " expected operands of one element type, found ",
          elementType(operands.front()), " and ", elementType(v));
  return success();
}
LogicalResult expectAxis(MaybeLoc loc, StringRef law, int64_t axis,
                         RankedTensorType t) {
  if (axis >= 0 && axis < t.getRank())
    return success();
  return emitOptionalError(loc, law, " axis ", axis, " is outside of rank ",
                           t.getRank());
}
LogicalResult expectTypeOf(MaybeLoc loc, StringRef law, Value v, Value like) {
  if (compatibleTypes(v.getType(), like.getType()))
    return success();
  return emitOptionalError(loc, law, " expected type ", like.getType(),
                           ", found ", v.getType());
}
LogicalResult expectBy(MaybeLoc loc, StringRef law, By by, ArrayRef<By> ways) {
  if (by == By::Open || llvm::is_contained(ways, by))
    return success();
  std::string names;
  llvm::raw_string_ostream os(names);
  llvm::interleave(
      ways, os, [&](By way) { os << stringifyBy(way); }, " or ");
  return emitOptionalError(loc, law, " expected by = ", names, ", found ",
                           stringifyBy(by));
}
LogicalResult expectShape(MaybeLoc loc, StringRef law, Value v, Ints shape) {
  if (succeeded(verifyCompatibleShape(tensorType(v).getShape(), shape)))
    return success();
  return emitOptionalError(loc, law, " expected shape ", describe(shape),
                           ", found ", v.getType());
}

LogicalResult broadcastTypes(MaybeLoc loc, StringRef law, ValueRange operands,
                             Type element, Types &types) {
  SmallVector<int64_t> shape;
  for (Value v : operands) {
    Ints other = tensorType(v).getShape();
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (size_t i = 0; i < other.size(); ++i) {
      int64_t &d = shape[shape.size() - other.size() + i];
      int64_t o = other[i];
      if (d == 1)
        d = o;
      else if (o == kDynamic || o == 1 || o == d)
        continue;
      else if (d == kDynamic)
        d = o;
      else
        return emitOptionalError(loc, law, " shapes ", describe(shape), " and ",
                                 describe(other), " do not broadcast");
    }
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult inferSelect(MaybeLoc loc, SelectOp::Adaptor a, Types &types) {
  if (failed(sameElements(loc, "(C1)", {a.getA(), a.getB()})))
    return failure();
  return broadcastTypes(loc, "(C2)", a.getOperands(), elementType(a.getA()),
                        types);
}

LogicalResult productShape(MaybeLoc loc, RankedTensorType ta,
                           RankedTensorType tb, bool transA, bool transB,
                           SmallVectorImpl<int64_t> &shape) {
  if (ta.getRank() < 2 || tb.getRank() < 2)
    return emitOptionalError(
        loc, "(C1) expected operands of rank 2 or more, found ",
        describe(ta.getShape()), " and ", describe(tb.getShape()));
  SmallVector<int64_t> sa(ta.getShape()), sb(tb.getShape());
  if (transA)
    std::swap(sa.end()[-1], sa.end()[-2]);
  if (transB)
    std::swap(sb.end()[-1], sb.end()[-2]);
  int64_t k = sa.back(), k2 = sb.end()[-2];
  if (k != k2 && k != kDynamic && k2 != kDynamic)
    return emitOptionalError(loc, "(C2) contracted sizes differ: ", k, " and ",
                             k2);
  int64_t m = sa.end()[-2], n = sb.back();
  sa.resize(sa.size() - 2);
  sb.resize(sb.size() - 2);
  shape.assign(std::max(sa.size(), sb.size()), 1);
  for (auto *s : {&sa, &sb})
    for (size_t i = 0; i < s->size(); ++i) {
      int64_t &d = shape[shape.size() - s->size() + i];
      if (d == 1)
        d = (*s)[i];
      else if ((*s)[i] != 1 && (*s)[i] != d)
        return emitOptionalError(
            loc, "(C3) batch dimensions do not broadcast: ", describe(sa),
            " and ", describe(sb));
    }
  shape.append({m, n});
  return success();
}

LogicalResult inferMatmul(MaybeLoc loc, MatmulOp::Adaptor a, Types &types) {
  SmallVector<int64_t> shape;
  auto ta = tensorType(a.getA());
  if (failed(productShape(loc, ta, tensorType(a.getB()), a.getTransA(),
                          a.getTransB(), shape)) ||
      failed(sameElements(loc, "(C5)", a.getOperands())) ||
      failed(expectCallOrKernel(loc, "(C7)", a.getBy())))
    return failure();
  if (a.getBias() && tensorType(a.getBias()).getShape() != Ints{shape.back()})
    return emitOptionalError(loc, "(C4) expected a bias of shape ",
                             shape.back(), ", found ",
                             describe(tensorType(a.getBias()).getShape()));
  if (auto name = a.getActivation();
      name && *name != "relu" && *name != "gelu_tanh")
    return emitOptionalError(
        loc, "(C6) expected activation relu or gelu_tanh, found ", *name);
  types.push_back(withShape(ta, shape));
  return success();
}

LogicalResult checkGroups(MaybeLoc loc, Value x, Value groups, By by) {
  auto t = tensorType(x);
  if (t.getRank() != 2)
    return emitOptionalError(loc, "(C1) expected a matrix, found ", t);
  return failure(
      failed(expectShape(loc, "(C2)", groups, t.getShape().take_front(1))) ||
      failed(expectCallOrOps(loc, "(C5)", by)));
}

LogicalResult inferGroupedMatmul(MaybeLoc loc, GroupedMatmulOp::Adaptor a,
                                 Types &types) {
  auto x = tensorType(a.getX()), w = tensorType(a.getW());
  if (failed(checkGroups(loc, a.getX(), a.getGroups(), a.getBy())))
    return failure();
  const int64_t inner = a.getTransW() ? 2 : 1;
  if (w.getRank() != 3 || w.getDimSize(inner) != x.getDimSize(1))
    return emitOptionalError(loc, "(C3) expected matrices for ",
                             x.getDimSize(1), " columns, found ",
                             describe(w.getShape()));
  if (failed(sameElements(loc, "(C4)", {a.getX(), a.getW()})))
    return failure();
  types.push_back(withShape(x, {x.getDimSize(0), w.getDimSize(3 - inner)}));
  return success();
}

static LogicalResult expectLayout(MaybeLoc loc, StringRef law,
                                  StringRef layout) {
  if (ImageDims::knows(layout))
    return success();
  return emitOptionalError(loc, law, " expected layout nchw or nhwc, found ",
                           layout);
}

/// Replaces image sizes by the sizes of a window's outputs.
static LogicalResult slide(MaybeLoc loc, StringRef law,
                           const WindowSizes &window, ImageDims dims,
                           SmallVectorImpl<int64_t> &shape) {
  const SmallVector<int64_t> images(shape.begin(), shape.end());
  for (int64_t i = 0; i < dims.count(); ++i) {
    int64_t &d = shape[dims.spatial() + i];
    if (d == kDynamic)
      continue;
    d = window.along(i).outputs(d);
    if (d == -1)
      return emitOptionalError(loc, law, " the window does not fit into input ",
                               describe(images));
  }
  return success();
}

LogicalResult convShape(MaybeLoc loc, RankedTensorType tx, RankedTensorType tw,
                        const WindowSizes &window, StringRef layout,
                        bool filtersLast, int64_t group,
                        SmallVectorImpl<int64_t> &shape) {
  if (!ImageDims::areImages(tx.getRank()) || tx.getRank() != tw.getRank())
    return emitOptionalError(
        loc, "(C1) expected x and weights of one rank from 3 to 5, found ",
        describe(tx.getShape()), " and ", describe(tw.getShape()));
  const ImageDims dims(tx.getRank(), layout);
  if (!window.areFor(dims.count()))
    return emitOptionalError(loc, "(C7) expected ", dims.count(), " strides, ",
                             2 * dims.count(), " pads and ", dims.count(),
                             " dilations, positive but for the pads, as is "
                             "the window");
  if (failed(expectLayout(loc, "(C8)", layout)))
    return failure();
  if (group < 1 || tw.getDimSize(0) % group)
    return emitOptionalError(loc, "(C3) ", tw.getDimSize(0),
                             " output channels do not divide by ", group,
                             " groups");
  const int64_t c = tx.getDimSize(dims.channel()),
                inputs = FilterDims(filtersLast).inputs(tw.getShape());
  if (c != group * inputs)
    return emitOptionalError(loc, "(C2) expected ", group * inputs,
                             " input channels, found ", c);
  shape.assign(tx.getShape().begin(), tx.getShape().end());
  if (failed(slide(loc, "(C6)", window, dims, shape)))
    return failure();
  shape[dims.channel()] = tw.getDimSize(0);
  return success();
}

LogicalResult inferConv(MaybeLoc loc, ConvOp::Adaptor a, Types &types) {
  auto tx = tensorType(a.getX()), tw = tensorType(a.getW());
  SmallVector<int64_t> shape;
  if (failed(convShape(loc, tx, tw, windowOf(a, tw.getShape()), a.getLayout(),
                       a.getFiltersLast(), a.getGroup(), shape)))
    return failure();
  if (a.getBias() &&
      tensorType(a.getBias()).getShape() != Ints{tw.getDimSize(0)})
    return emitOptionalError(loc, "(C4) expected a bias of shape ",
                             tw.getDimSize(0));
  if (failed(sameElements(loc, "(C5)", a.getOperands())) ||
      failed(expectConvBy(loc, "(C10)", a.getBy())))
    return failure();
  types.push_back(withShape(tx, shape));
  return success();
}

LogicalResult poolShape(MaybeLoc loc, RankedTensorType tx,
                        const WindowSizes &window, StringRef layout,
                        SmallVectorImpl<int64_t> &shape) {
  if (!ImageDims::areImages(tx.getRank()))
    return emitOptionalError(loc, "(C1) expected x of rank 3 to 5, found ",
                             describe(tx.getShape()));
  const ImageDims dims(tx.getRank(), layout);
  if (!window.areFor(dims.count()))
    return emitOptionalError(loc, "(C2) expected ", dims.count(),
                             " kernel sizes, ", dims.count(), " strides, ",
                             2 * dims.count(), " pads and ", dims.count(),
                             " dilations, positive but for the pads");
  if (failed(expectLayout(loc, "(C4)", layout)))
    return failure();
  shape.assign(tx.getShape().begin(), tx.getShape().end());
  return slide(loc, "(C3)", window, dims, shape);
}

LogicalResult inferMaxPool(MaybeLoc loc, MaxPoolOp::Adaptor a, Types &types) {
  SmallVector<int64_t> shape;
  auto tx = tensorType(a.getX());
  const WindowSizes window = windowOf(a);
  if (failed(poolShape(loc, tx, window, a.getLayout(), shape)) ||
      failed(expectCallOrOps(loc, "(C6)", a.getBy())))
    return failure();
  if (window.taps() > 255)
    return emitOptionalError(
        loc, "(C5) expected a window of at most 255 elements, found ",
        window.taps());
  types.push_back(withShape(tx, shape));
  types.push_back(
      RankedTensorType::get(shape, IntegerType::get(tx.getContext(), 8)));
  return success();
}

LogicalResult inferAvgPool(MaybeLoc loc, AvgPoolOp::Adaptor a, Types &types) {
  SmallVector<int64_t> shape;
  auto tx = tensorType(a.getX());
  if (failed(poolShape(loc, tx, windowOf(a), a.getLayout(), shape)) ||
      failed(expectCallOrOps(loc, "(C5)", a.getBy())))
    return failure();
  types.push_back(withShape(tx, shape));
  return success();
}

LogicalResult checkChannels(MaybeLoc loc, Value x, ValueRange perChannel,
                            StringRef layout) {
  auto tx = tensorType(x);
  if (tx.getRank() < 2)
    return emitOptionalError(loc, "(C1) expected x of rank 2 or more, found ",
                             tx);
  if (failed(expectLayout(loc, "(C3)", layout)))
    return failure();
  int64_t c = tx.getDimSize(ImageDims(tx.getRank(), layout).channel());
  for (Value v : perChannel)
    if (tensorType(v).getShape() != Ints{c})
      return emitOptionalError(loc, "(C2) expected one value for each of ", c,
                               " channels, found shape ",
                               describe(tensorType(v).getShape()));
  return success();
}

LogicalResult inferBatchNorm(MaybeLoc loc, BatchNormOp::Adaptor a,
                             Types &types) {
  if (failed(checkChannels(loc, a.getX(), a.getOperands().drop_front(),
                           a.getLayout())) ||
      failed(expectCallOrOps(loc, "(C4)", a.getBy())))
    return failure();
  types.push_back(a.getX().getType());
  types.append({a.getMean().getType(), a.getVar().getType(),
                a.getMean().getType(), a.getVar().getType()});
  return success();
}
LogicalResult inferBatchNormBackward(MaybeLoc loc,
                                     BatchNormBackwardOp::Adaptor a,
                                     Types &types) {
  if (failed(checkChannels(loc, a.getX(), a.getOperands().drop_front(2),
                           a.getLayout())) ||
      failed(expectTypeOf(loc, "(C4)", a.getDy(), a.getX())) ||
      failed(expectCallOrOps(loc, "(C5)", a.getBy())))
    return failure();
  types.append(
      {a.getX().getType(), a.getScale().getType(), a.getScale().getType()});
  return success();
}
LogicalResult inferBatchNormInfer(MaybeLoc loc, BatchNormInferOp::Adaptor a,
                                  Types &types) {
  if (failed(checkChannels(loc, a.getX(), a.getOperands().drop_front(),
                           a.getLayout())))
    return failure();
  types.push_back(a.getX().getType());
  return success();
}

LogicalResult checkRows(MaybeLoc loc, Value x, int64_t axis,
                        ValueRange perElement) {
  auto tx = tensorType(x);
  if (failed(expectAxis(loc, "(C1)", axis, tx)))
    return failure();
  for (Value v : perElement)
    if (failed(expectShape(loc, "(C2)", v, tx.getShape().drop_front(axis))))
      return failure();
  return success();
}
/// One value per row: x's shape with 1 from the axis on.
static SmallVector<int64_t> rowStatistics(RankedTensorType x, int64_t axis) {
  SmallVector<int64_t> shape(x.getShape());
  std::fill(shape.begin() + axis, shape.end(), 1);
  return shape;
}
LogicalResult checkRowGradients(MaybeLoc loc, Value dy, Value x, Value scale,
                                ValueRange statistics, int64_t axis) {
  if (failed(checkRows(loc, x, axis, scale)) ||
      failed(expectTypeOf(loc, "(C3)", dy, x)))
    return failure();
  for (Value v : statistics)
    if (failed(expectShape(loc, "(C4)", v, rowStatistics(tensorType(x), axis))))
      return failure();
  return success();
}
LogicalResult inferLayerNorm(MaybeLoc loc, LayerNormOp::Adaptor a,
                             Types &types) {
  if (failed(
          checkRows(loc, a.getX(), a.getAxis(), {a.getScale(), a.getBias()})) ||
      failed(expectCallOrOps(loc, "(C3)", a.getBy())))
    return failure();
  auto tx = tensorType(a.getX());
  auto row = RankedTensorType::get(rowStatistics(tx, a.getAxis()),
                                   elementType(a.getScale()));
  types.append({tx, row, row});
  return success();
}
LogicalResult inferLayerNormBackward(MaybeLoc loc,
                                     LayerNormBackwardOp::Adaptor a,
                                     Types &types) {
  if (failed(checkRowGradients(loc, a.getDy(), a.getX(), a.getScale(),
                               {a.getMean(), a.getRstd()}, a.getAxis())) ||
      failed(expectCallOrOps(loc, "(C5)", a.getBy())))
    return failure();
  types.append(
      {a.getX().getType(), a.getScale().getType(), a.getScale().getType()});
  return success();
}

LogicalResult reduceType(MaybeLoc loc, RankedTensorType x, Ints axes,
                         bool keepdims, Type element, Types &types) {
  SmallVector<int64_t> shape;
  if (!llvm::is_sorted(axes) ||
      std::adjacent_find(axes.begin(), axes.end()) != axes.end() ||
      (!axes.empty() && (axes.front() < 0 || axes.back() >= x.getRank())))
    return emitOptionalError(
        loc, "(C1) axes must be sorted, distinct and within rank ",
        x.getRank());
  for (auto [i, d] : llvm::enumerate(x.getShape())) {
    bool reduced = llvm::is_contained(axes, (int64_t)i);
    if (!reduced || keepdims)
      shape.push_back(reduced ? 1 : d);
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

static LogicalResult checkRowsAndLabels(MaybeLoc loc, Value logits,
                                        Value labels) {
  auto tl = tensorType(logits);
  if (tl.getRank() != 2)
    return emitOptionalError(loc, "(C1) expected logits of rank 2, found ",
                             describe(tl.getShape()));
  if (tensorType(labels).getShape() != tl.getShape().take_front(1))
    return emitOptionalError(loc, "(C2) expected ", tl.getDimSize(0),
                             " labels, found ",
                             describe(tensorType(labels).getShape()));
  return success();
}
LogicalResult inferCrossEntropy(MaybeLoc loc, SoftmaxCrossEntropyOp::Adaptor a,
                                Types &types) {
  if (failed(checkRowsAndLabels(loc, a.getLogits(), a.getLabels())))
    return failure();
  auto tl = tensorType(a.getLogits());
  auto row = withShape(tl, tl.getShape().take_front(1));
  types.append({row, row});
  return success();
}
LogicalResult inferCrossEntropyBackward(
    MaybeLoc loc, SoftmaxCrossEntropyBackwardOp::Adaptor a, Types &types) {
  if (failed(checkRowsAndLabels(loc, a.getLogits(), a.getLabels())))
    return failure();
  auto tl = tensorType(a.getLogits());
  Type row = withShape(tl, tl.getShape().take_front(1));
  for (Value v : {a.getDloss(), a.getLse()})
    if (!compatibleTypes(row, v.getType()))
      return emitOptionalError(loc, "(C3) expected type ", row, ", found ",
                               v.getType());
  types.push_back(tl);
  return success();
}

} // namespace dlc::ir

#include "compiler/dialect/Infer.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using llvm::LogicalResult;

namespace dlc::ir {
namespace {

constexpr int64_t kDynamic = ShapedType::kDynamic;

RankedTensorType withShape(RankedTensorType t, Ints shape) {
  return RankedTensorType::get(shape, t.getElementType());
}

/// Positions of channels and of the first spatial dimension in an activation.
struct ImageDims {
  int64_t channel, spatial;
  explicit ImageDims(StringRef layout, int64_t rank)
      : channel(layout == "nhwc" ? rank - 1 : 1),
        spatial(layout == "nhwc" ? 1 : 2) {}
};

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

LogicalResult sameElements(MaybeLoc loc, ValueRange operands) {
  for (Value v : operands)
    if (elementType(v) != elementType(operands.front()))
      return emitOptionalError(
          loc, "expected operands of one element type, found ",
          elementType(operands.front()), " and ", elementType(v));
  return success();
}

LogicalResult broadcastTypes(MaybeLoc loc, ValueRange operands, Type element,
                             Types &types) {
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
        return emitOptionalError(loc, "shapes ", describe(shape), " and ",
                                 describe(other), " do not broadcast");
    }
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult inferSelect(MaybeLoc loc, SelectOp::Adaptor a, Types &types) {
  if (failed(sameElements(loc, {a.getA(), a.getB()})))
    return failure();
  return broadcastTypes(loc, a.getOperands(), elementType(a.getA()), types);
}

int64_t windowSize(int64_t in, int64_t kernel, int64_t stride, int64_t padLow,
                   int64_t padHigh, int64_t dilation) {
  if (in == kDynamic)
    return kDynamic;
  int64_t span = in + padLow + padHigh - (dilation * (kernel - 1) + 1);
  return span < 0 ? -1 : span / stride + 1;
}

LogicalResult inferMatmul(MaybeLoc loc, MatmulOp::Adaptor a, Types &types) {
  auto ta = tensorType(a.getA()), tb = tensorType(a.getB());
  if (ta.getRank() < 2 || tb.getRank() < 2)
    return emitOptionalError(
        loc, "(C1) expected operands of rank 2 or more, found ",
        describe(ta.getShape()), " and ", describe(tb.getShape()));
  SmallVector<int64_t> sa(ta.getShape()), sb(tb.getShape());
  if (a.getTransA())
    std::swap(sa.end()[-1], sa.end()[-2]);
  if (a.getTransB())
    std::swap(sb.end()[-1], sb.end()[-2]);
  int64_t k = sa.back(), k2 = sb.end()[-2];
  if (k != k2 && k != kDynamic && k2 != kDynamic)
    return emitOptionalError(loc, "(C2) contracted sizes differ: ", k, " and ",
                             k2);
  if (failed(sameElements(loc, a.getOperands())))
    return failure();
  int64_t m = sa.end()[-2], n = sb.back();
  if (a.getBias() && tensorType(a.getBias()).getShape() != Ints{n})
    return emitOptionalError(loc, "(C4) expected a bias of shape ", n,
                             ", found ",
                             describe(tensorType(a.getBias()).getShape()));
  sa.resize(sa.size() - 2);
  sb.resize(sb.size() - 2);
  SmallVector<int64_t> shape(std::max(sa.size(), sb.size()), 1);
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
  types.push_back(withShape(ta, shape));
  return success();
}

LogicalResult inferConv(MaybeLoc loc, ConvOp::Adaptor a, Types &types) {
  auto tx = tensorType(a.getX()), tw = tensorType(a.getW());
  if (tx.getRank() != 4 || tw.getRank() != 4)
    return emitOptionalError(
        loc, "(C1) expected x and weights of rank 4, found ",
        describe(tx.getShape()), " and ", describe(tw.getShape()));
  Ints strides = a.getStrides(), pads = a.getPads(), dil = a.getDilations();
  if (strides.size() != 2 || pads.size() != 4 || dil.size() != 2)
    return emitOptionalError(loc, "expected 2 strides, 4 pads and 2 dilations");
  ImageDims dims(a.getLayout(), 4);
  int64_t group = a.getGroup(), c = tx.getDimSize(dims.channel);
  if (c != group * tw.getDimSize(1))
    return emitOptionalError(loc, "(C2) expected ", group * tw.getDimSize(1),
                             " input channels, found ", c);
  if (tw.getDimSize(0) % group)
    return emitOptionalError(loc, "(C3) ", tw.getDimSize(0),
                             " output channels do not divide by ", group,
                             " groups");
  if (a.getBias() &&
      tensorType(a.getBias()).getShape() != Ints{tw.getDimSize(0)})
    return emitOptionalError(loc, "(C4) expected a bias of shape ",
                             tw.getDimSize(0));
  if (failed(sameElements(loc, a.getOperands())))
    return failure();
  SmallVector<int64_t> shape(tx.getShape());
  shape[dims.channel] = tw.getDimSize(0);
  for (int i = 0; i < 2; ++i) {
    int64_t &d = shape[dims.spatial + i];
    d = windowSize(d, tw.getDimSize(2 + i), strides[i], pads[i], pads[2 + i],
                   dil[i]);
    if (d == -1)
      return emitOptionalError(loc, "(C6) the window does not fit into input ",
                               describe(tx.getShape()));
  }
  types.push_back(withShape(tx, shape));
  return success();
}

static LogicalResult inferPool(MaybeLoc loc, RankedTensorType tx, Ints kernel,
                               Ints strides, Ints pads, Ints dil,
                               StringRef layout, SmallVector<int64_t> &shape) {
  if (tx.getRank() != 4 || kernel.size() != 2 || strides.size() != 2 ||
      pads.size() != 4 || dil.size() != 2)
    return emitOptionalError(
        loc, "expected x of rank 4 with 2 kernel sizes, 2 strides, "
             "4 pads and 2 dilations");
  ImageDims dims(layout, 4);
  shape.assign(tx.getShape().begin(), tx.getShape().end());
  for (int i = 0; i < 2; ++i) {
    int64_t &d = shape[dims.spatial + i];
    d = windowSize(d, kernel[i], strides[i], pads[i], pads[2 + i], dil[i]);
    if (d == -1)
      return emitOptionalError(loc, "the window does not fit into input ",
                               describe(tx.getShape()));
  }
  return success();
}

LogicalResult inferMaxPool(MaybeLoc loc, MaxPoolOp::Adaptor a, Types &types) {
  SmallVector<int64_t> shape;
  auto tx = tensorType(a.getX());
  if (failed(inferPool(loc, tx, a.getKernel(), a.getStrides(), a.getPads(),
                       a.getDilations(), a.getLayout(), shape)))
    return failure();
  if (a.getKernel()[0] * a.getKernel()[1] > 255)
    return emitOptionalError(
        loc, "expected a window of at most 255 elements, found ",
        a.getKernel()[0] * a.getKernel()[1]);
  types.push_back(withShape(tx, shape));
  types.push_back(
      RankedTensorType::get(shape, IntegerType::get(tx.getContext(), 8)));
  return success();
}

LogicalResult inferAvgPool(MaybeLoc loc, AvgPoolOp::Adaptor a, Types &types) {
  SmallVector<int64_t> shape;
  auto tx = tensorType(a.getX());
  if (failed(inferPool(loc, tx, a.getKernel(), a.getStrides(), a.getPads(),
                       a.getDilations(), a.getLayout(), shape)))
    return failure();
  types.push_back(withShape(tx, shape));
  return success();
}

static LogicalResult checkChannels(MaybeLoc loc, Value x, ValueRange perChannel,
                                   StringRef layout) {
  auto tx = tensorType(x);
  if (tx.getRank() < 2)
    return emitOptionalError(loc, "expected x of rank 2 or more");
  int64_t c = tx.getDimSize(ImageDims(layout, tx.getRank()).channel);
  for (Value v : perChannel)
    if (tensorType(v).getShape() != Ints{c})
      return emitOptionalError(loc, "expected one value for each of ", c,
                               " channels, found shape ",
                               describe(tensorType(v).getShape()));
  return success();
}

LogicalResult inferBatchNorm(MaybeLoc loc, BatchNormOp::Adaptor a,
                             Types &types) {
  if (failed(checkChannels(loc, a.getX(), a.getOperands().drop_front(),
                           a.getLayout())))
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
                           a.getLayout())))
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

LogicalResult inferLayerNorm(MaybeLoc loc, LayerNormOp::Adaptor a,
                             Types &types) {
  auto tx = tensorType(a.getX());
  int64_t axis = a.getAxis();
  if (axis < 0 || axis >= tx.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside of rank ",
                             tx.getRank());
  Ints inner = tx.getShape().drop_front(axis);
  for (Value v : {a.getScale(), a.getBias()})
    if (tensorType(v).getShape() != inner)
      return emitOptionalError(loc, "expected scale and bias of shape ",
                               describe(inner), ", found ",
                               describe(tensorType(v).getShape()));
  SmallVector<int64_t> stats(tx.getShape());
  std::fill(stats.begin() + axis, stats.end(), 1);
  types.push_back(tx);
  auto stat = RankedTensorType::get(stats, elementType(a.getScale()));
  types.append({stat, stat});
  return success();
}
LogicalResult inferLayerNormBackward(MaybeLoc, LayerNormBackwardOp::Adaptor a,
                                     Types &types) {
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
        loc, "axes must be sorted, distinct and within rank ", x.getRank());
  for (auto [i, d] : llvm::enumerate(x.getShape())) {
    bool reduced = llvm::is_contained(axes, (int64_t)i);
    if (!reduced || keepdims)
      shape.push_back(reduced ? 1 : d);
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult inferTranspose(MaybeLoc loc, TransposeOp::Adaptor a,
                             Types &types) {
  auto tx = tensorType(a.getX());
  Ints perm = a.getPerm();
  SmallVector<bool> seen(tx.getRank(), false);
  SmallVector<int64_t> shape;
  for (int64_t p : perm) {
    if (p < 0 || p >= tx.getRank() || seen[p])
      return emitOptionalError(loc, "perm is not a permutation of ",
                               tx.getRank(), " dimensions");
    seen[p] = true;
    shape.push_back(tx.getDimSize(p));
  }
  if ((int64_t)perm.size() != tx.getRank())
    return emitOptionalError(loc, "perm is not a permutation of ", tx.getRank(),
                             " dimensions");
  types.push_back(withShape(tx, shape));
  return success();
}

LogicalResult inferSlice(MaybeLoc loc, SliceOp::Adaptor a, Types &types) {
  auto tx = tensorType(a.getX());
  size_t rank = tx.getRank();
  if (a.getStarts().size() != rank || a.getSizes().size() != rank ||
      a.getSteps().size() != rank)
    return emitOptionalError(loc, "expected ", rank,
                             " starts, sizes and steps");
  for (size_t i = 0; i < rank; ++i) {
    int64_t first = a.getStarts()[i], n = a.getSizes()[i],
            last = first + (n - 1) * a.getSteps()[i], d = tx.getDimSize(i);
    if (n < 0 || a.getSteps()[i] == 0 ||
        (n > 0 && d != kDynamic &&
         (std::min(first, last) < 0 || std::max(first, last) >= d)))
      return emitOptionalError(loc, "slice of dimension ", (int64_t)i,
                               " leaves [0, ", d, ")");
  }
  types.push_back(withShape(tx, a.getSizes()));
  return success();
}

LogicalResult inferPad(MaybeLoc loc, PadOp::Adaptor a, Types &types) {
  auto tx = tensorType(a.getX());
  size_t rank = tx.getRank();
  if (a.getLow().size() != rank || a.getHigh().size() != rank ||
      a.getInterior().size() != rank)
    return emitOptionalError(loc, "expected ", rank,
                             " low, high and interior sizes");
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    int64_t d = tx.getDimSize(i);
    shape.push_back(d + a.getLow()[i] + a.getHigh()[i] +
                    std::max<int64_t>(d - 1, 0) * a.getInterior()[i]);
    if (a.getLow()[i] < 0 || a.getHigh()[i] < 0 || a.getInterior()[i] < 0)
      return emitOptionalError(loc, "expected sizes of zero or more");
  }
  types.push_back(withShape(tx, shape));
  return success();
}

LogicalResult inferConcat(MaybeLoc loc, ConcatOp::Adaptor a, Types &types) {
  if (a.getXs().empty())
    return emitOptionalError(loc, "expected at least one operand");
  auto first = tensorType(a.getXs().front());
  int64_t axis = a.getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside of rank ",
                             first.getRank());
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value v : a.getXs()) {
    auto t = tensorType(v);
    if (t.getRank() != first.getRank() ||
        t.getElementType() != first.getElementType())
      return emitOptionalError(loc, "operands differ in rank or element type");
    for (int64_t i = 0; i < t.getRank(); ++i)
      if (i != axis && t.getDimSize(i) != shape[i])
        return emitOptionalError(loc, "operands differ in dimension ", i);
    shape[axis] += t.getDimSize(axis);
  }
  types.push_back(withShape(first, shape));
  return success();
}

LogicalResult inferGather(MaybeLoc loc, GatherOp::Adaptor a, Types &types) {
  auto td = tensorType(a.getData()), ti = tensorType(a.getIndices());
  int64_t axis = a.getAxis();
  if (axis < 0 || axis >= td.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside of rank ",
                             td.getRank());
  SmallVector<int64_t> shape(td.getShape().take_front(axis));
  llvm::append_range(shape, ti.getShape());
  llvm::append_range(shape, td.getShape().drop_front(axis + 1));
  types.push_back(withShape(td, shape));
  return success();
}

LogicalResult inferCrossEntropy(MaybeLoc loc, SoftmaxCrossEntropyOp::Adaptor a,
                                Types &types) {
  auto tl = tensorType(a.getLogits());
  if (tl.getRank() != 2)
    return emitOptionalError(loc, "(C1) expected logits of rank 2, found ",
                             describe(tl.getShape()));
  if (tensorType(a.getLabels()).getShape() != tl.getShape().take_front(1))
    return emitOptionalError(loc, "(C2) expected ", tl.getDimSize(0),
                             " labels, found ",
                             describe(tensorType(a.getLabels()).getShape()));
  auto row = withShape(tl, tl.getShape().take_front(1));
  types.append({row, row});
  return success();
}
LogicalResult
inferCrossEntropyBackward(MaybeLoc, SoftmaxCrossEntropyBackwardOp::Adaptor a,
                          Types &types) {
  types.push_back(a.getLogits().getType());
  return success();
}

} // namespace dlc::ir

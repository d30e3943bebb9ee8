// SPDX-License-Identifier: Apache-2.0
// Ops that rearrange elements: padding, blocks, crops, columns to images.
#include "compiler/import/rows/Build.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <numeric>
#include <set>

using namespace mlir;

namespace dlc::import {
namespace {

constexpr int64_t kMostPad = int64_t(1) << 40;
/// Limit on the slices that a reflecting or wrapping pad is concatenated from.
constexpr int64_t kMostParts = 4096;

/// The distinct axes in input `i`; `axes` if it is omitted.
FailureOr<std::vector<int64_t>>
axesOf(const Node &n, size_t i, std::vector<int64_t> axes, int64_t rank) {
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  DLC_GET(axes, n.integersOr(i, "axes", axes));
  std::set<int64_t> seen;
  for (int64_t &axis : axes) {
    DLC_GET(axis, n.checked(normalizeAxis(axis, rank)));
    if (!seen.insert(axis).second)
      return n.fail("axis {} is given twice", axis);
  }
  return axes;
}

struct Pads {
  Shape low, high; // per dimension; negative ones crop
};

FailureOr<Pads> padsOf(const Node &n, const Shape &shape) {
  const int64_t rank = shape.size();
  DLC_GET(auto given, n.integersOr(1, "pads", n.integers("pads")));
  DLC_GET(auto axes, axesOf(n, 3, {}, rank));
  if (given.size() != 2 * axes.size())
    return n.fail("{} pads for {} axes", given.size(), axes.size());
  Pads pads{Shape(rank, 0), Shape(rank, 0)};
  Shape padded = shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], low = given[i], high = given[axes.size() + i];
    if (std::max(std::abs(low), std::abs(high)) > kMostPad ||
        std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0) + shape[axis] <
            0)
      return n.fail("pads {} do not fit to an input of shape {}", given, shape);
    pads.low[axis] = low;
    pads.high[axis] = high;
    padded[axis] += low + high;
  }
  DLC_CHECK(checkFits(n, padded, "the padded value"));
  return pads;
}

/// Applies negative pads as slices, and sets them to 0.
Expr cropped(Expr x, Pads &pads) {
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t low = std::max<int64_t>(-pads.low[d], 0),
                  high = std::max<int64_t>(-pads.high[d], 0);
    x = part(x, d, low, x.shape()[d] - low - high);
    pads.low[d] = std::max<int64_t>(pads.low[d], 0);
    pads.high[d] = std::max<int64_t>(pads.high[d], 0);
  }
  return x;
}

Expr padAll(Expr x, const Pads &pads, double value) {
  Shape none(x.rank(), 0);
  return x.make<ir::PadOp>(x.v, ArrayRef<int64_t>(pads.low),
                           ArrayRef<int64_t>(pads.high),
                           ArrayRef<int64_t>(none), llvm::APFloat(value));
}

/// Constant padding; the value may be computed by the model.
LogicalResult padConstant(const Node &n, Expr x, const Pads &pads) {
  if (!n.has(2))
    return n.result(padAll(x, pads, n.number("value", 0)));
  if (const HostTensor *value = n.host(2)) {
    if (value->elements() != 1)
      return n.fail("the padding value has {} elements, expected 1",
                    value->elements());
    return n.result(padAll(x, pads, value->number(0)));
  }
  DLC_GET(auto value, input(n, 2));
  if (sizeOf(shapeOf(value)) != 1)
    return n.fail("the padding value has shape {}, expected one element",
                  shapeOf(value));
  Expr inner = padAll(filled(n, shapeOf(x), x.element(), 1), pads, 0);
  Expr here = inner != 0;
  return n.result(select(here, padAll(x, pads, 0), value.reshape({})));
}

/// The index that the element at `i` of a padded dimension is copied from.
int64_t sourceOf(const std::string &mode, int64_t i, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(i, 0, size - 1);
  const int64_t period = mode == "wrap" || size == 1 ? size : 2 * (size - 1);
  const int64_t at = (i % period + period) % period;
  return at < size ? at : period - at;
}

/// Pads one axis by concatenating runs of x that are ascending, descending or
/// constant.
FailureOr<Expr> padBy(const Node &n, Expr x, int64_t axis, int64_t low,
                      int64_t high, const std::string &mode) {
  const int64_t size = x.shape()[axis], end = size + high;
  if (low + high == 0)
    return x;
  if (size == 0)
    return n.fail("mode {} cannot fill an empty dimension", mode);
  std::vector<Expr> parts;
  for (int64_t i = -low; i < end;) {
    const int64_t first = sourceOf(mode, i, size);
    int64_t step = 0, length = 1;
    if (i + 1 < end)
      step = sourceOf(mode, i + 1, size) - first;
    if (step < -1 || step > 1)
      step = 1;
    while (i + length < end &&
           sourceOf(mode, i + length, size) == first + length * step)
      ++length;
    if (step == 0) {
      Shape same = shapeOf(x);
      same[axis] = length;
      parts.push_back(part(x, axis, first, 1).broadcast(same));
    } else {
      parts.push_back(part(x, axis, first, length, step));
    }
    i += length;
    if (int64_t(parts.size()) > kMostParts)
      return n.fail("pads that repeat a dimension of {} elements more than {} "
                    "times are not supported",
                    size, kMostParts);
  }
  return joined(parts, axis);
}

LogicalResult pad(const Node &n, Expr x) {
  DLC_GET(const auto mode, n.choice("mode", "constant",
                                    {"constant", "edge", "reflect", "wrap"}));
  DLC_GET(auto pads, padsOf(n, shapeOf(x)));
  Expr y = cropped(x, pads);
  if (mode == "constant")
    return padConstant(n, y, pads);
  for (int64_t d = 0; d < y.rank(); ++d) {
    DLC_CHECK(n.check(n.table.budget().work(
        uint64_t(pads.low[d]) + pads.high[d] + y.shape()[d], "padding")));
    DLC_GET(y, padBy(n, y, d, pads.low[d], pads.high[d], mode));
  }
  return n.result(y);
}

/// [N, C, H, W] and the block's size.
FailureOr<int64_t> blockOf(const Node &n, const Shape &shape) {
  const int64_t block = n.integer("blocksize", 0);
  if (shape.size() != 4 || block < 1 || block > (1 << 20))
    return n.fail("blocksize {} and an input of shape {} do not fit, expected "
                  "rank 4 and a positive blocksize",
                  block, shape);
  return block;
}

/// Whether the channels of a block are adjacent ("CRD") or strided ("DCR").
FailureOr<bool> areTogether(const Node &n) {
  DLC_GET(const auto mode, n.choice("mode", "DCR", {"DCR", "CRD"}));
  return mode == "CRD";
}

LogicalResult depthToSpace(const Node &n, Expr x) {
  const Shape s = shapeOf(x);
  DLC_GET(auto block, blockOf(n, s));
  DLC_GET(auto together, areTogether(n));
  const int64_t b = block, depth = s[1] / (b * b);
  if (s[1] % (b * b) != 0)
    return n.fail("{} channels do not divide by blocksize {} squared", s[1], b);
  Expr y = together ? transposed(x.reshape({s[0], depth, b, b, s[2], s[3]}),
                                 {0, 1, 4, 2, 5, 3})
                    : transposed(x.reshape({s[0], b, b, depth, s[2], s[3]}),
                                 {0, 3, 4, 1, 5, 2});
  return n.result(y.reshape({s[0], depth, s[2] * b, s[3] * b}));
}

LogicalResult spaceToDepth(const Node &n, Expr x) {
  const Shape s = shapeOf(x);
  DLC_GET(auto block, blockOf(n, s));
  DLC_GET(auto together, areTogether(n));
  const int64_t b = block;
  if (s[2] % b != 0 || s[3] % b != 0)
    return n.fail("an image of {} x {} does not divide by blocksize {}", s[2],
                  s[3], b);
  Expr y = transposed(x.reshape({s[0], s[1], s[2] / b, b, s[3] / b, b}),
                      together ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                               : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
  return n.result(y.reshape({s[0], s[1] * b * b, s[2] / b, s[3] / b}));
}

/// Crops or zero-pads x around its centre to a shape.
LogicalResult centerCropPad(const Node &n, Expr x) {
  DLC_GET(auto target, n.integers(1, "the shape"));
  DLC_GET(auto axes, axesOf(n, n.inputs(), n.integers("axes"), x.rank()));
  if (axes.size() != target.size())
    return n.fail("a shape of {} dimensions for {} axes", target.size(),
                  axes.size());
  Shape result = shapeOf(x);
  for (size_t i = 0; i < axes.size(); ++i)
    result[axes[i]] = target[i];
  DLC_CHECK(checkFits(n, result, "the result"));
  Expr y = x;
  for (int64_t axis : axes) {
    const int64_t more = result[axis] - y.shape()[axis];
    y = more < 0 ? part(y, axis, -more / 2, result[axis])
                 : padded(y, axis, more / 2, more - more / 2);
  }
  return n.result(y);
}

/// One number per spatial dimension, each at least `least`.
FailureOr<std::vector<int64_t>> perDim(const Node &n, const char *name,
                                       std::vector<int64_t> otherwise,
                                       int64_t least) {
  const size_t count = otherwise.size();
  std::vector<int64_t> given = n.integers(name, std::move(otherwise));
  bool valid = given.size() == count;
  for (int64_t value : given)
    valid &= value >= least && value < (int64_t(1) << 31);
  if (!valid)
    return n.fail("{} are {}, expected {} numbers from {} on", name, given,
                  count, least);
  return given;
}

/// Positions of the blocks in the padded image along one dimension.
struct Along {
  int64_t block, dilation, stride, low, size, count; // count of positions
};

FailureOr<std::vector<Along>> blocksOf(const Node &n) {
  DLC_GET(auto image, n.integers(1, "the image's shape"));
  DLC_GET(auto block, n.integers(2, "the block's shape"));
  const size_t dims = image.size();
  DLC_GET(auto dilations, perDim(n, "dilations", Shape(dims, 1), 1));
  DLC_GET(auto strides, perDim(n, "strides", Shape(dims, 1), 1));
  DLC_GET(auto pads, perDim(n, "pads", Shape(2 * dims, 0), 0));
  std::vector<Along> along;
  for (size_t d = 0; d < dims && dims == block.size(); ++d) {
    Along a{block[d], dilations[d], strides[d], pads[d], 0, 0};
    constexpr int64_t kMost = int64_t(1) << 31;
    if (a.block < 1 || a.block > kMost || image[d] < 1 || image[d] > kMost)
      break;
    a.size = image[d] + a.low + pads[dims + d];
    a.count = (a.size - a.dilation * (a.block - 1) - 1) / a.stride + 1;
    along.push_back(a);
  }
  if (along.size() != dims || dims == 0 || dims > 3)
    return n.fail("blocks of shape {} in images of shape {} are not supported, "
                  "expected 1 to 3 positive sizes",
                  block, image);
  return along;
}

/// Sums blocks at their positions: columns [N, C, K..., L...] of each block
/// element K are dilated by the strides and added.
LogicalResult col2Im(const Node &n, Expr x) {
  DLC_GET(auto along, blocksOf(n));
  int64_t inBlock = 1, blocks = 1;
  for (const Along &a : along) {
    inBlock *= a.block;
    blocks *= std::max<int64_t>(a.count, 0);
  }
  const Shape s = shapeOf(x);
  if (s.size() != 3 || inBlock > 1024 || s[1] % inBlock != 0 || s[2] != blocks)
    return n.fail(
        "columns of shape {} are not supported for {} blocks of {} elements", s,
        blocks, inBlock);
  Shape split{s[0], s[1] / inBlock, inBlock};
  for (const Along &a : along)
    split.push_back(a.count);
  Expr columns = x.reshape(split);
  std::optional<Expr> sum;
  for (int64_t k = 0; k < inBlock; ++k) {
    Expr spread = sliceOf(columns, 2, k);
    int64_t rest = k;
    for (size_t d = along.size(); d-- > 0;) {
      const Along &a = along[d];
      const int64_t low = rest % a.block * a.dilation;
      rest /= a.block;
      spread =
          padded(spread, 2 + d, low,
                 a.size - low - (a.count - 1) * a.stride - 1, 0, a.stride - 1);
    }
    sum = sum ? *sum + spread : spread;
  }
  auto image = n.integers(1, "the image's shape");
  for (size_t d = 0; d < along.size(); ++d)
    sum = part(*sum, 2 + d, along[d].low, (*image)[d]);
  return n.result(*sum);
}

LogicalResult eyeLike(const Node &n, Expr x) {
  Type element = x.element();
  if (n.has("dtype")) {
    const int to = n.integer("dtype", 0);
    auto dtype = toDType(to);
    if (!dtype)
      return n.fail("dtype {} is not supported", onnxTypeName(to));
    element = toMlir(*dtype, n.b.getContext());
  }
  const Shape shape = shapeOf(x);
  if (shape.size() != 2)
    return n.fail("rank {}, expected 2", shape.size());
  Expr distance = iota(n, shape, 1) - iota(n, shape, 0);
  Expr hit = distance == n.integer("k", 0);
  return n.result(hit.cast(element));
}

} // namespace

void addArrangeRows(Rows &rows) {
  rows["Pad"] = ofInputs<pad>;
  rows["DepthToSpace"] = ofInputs<depthToSpace>;
  rows["SpaceToDepth"] = ofInputs<spaceToDepth>;
  rows["CenterCropPad"] = ofInputs<centerCropPad>;
  rows["Col2Im"] = ofInputs<col2Im>;
  rows["EyeLike"] = ofInputs<eyeLike>;
}

} // namespace dlc::import

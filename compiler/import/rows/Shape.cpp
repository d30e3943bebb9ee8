// SPDX-License-Identifier: Apache-2.0
// Ops that move elements. Shapes, axes, bounds and splits must be known at
// import time; the host evaluator folds the ops that exporters write for them.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"
#include <numeric>

using namespace mlir;

namespace dlc::import {
namespace {

LogicalResult reshapeTo(const Node &n, const Result<Shape> &shape) {
  if (!shape.ok())
    return n.fail(shape.status());
  return n.result(n.reshape(n.in(0), *shape));
}

/// The shape of input 0, a tensor of any type or a sequence's.
LogicalResult shapeOfInput(const Node &n) {
  if (!n.type(0))
    return n.fail("expected a tensor");
  Shape shape = n.shape(0);
  int64_t rank = shape.size();
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = clamp(n.integer("start", 0));
  int64_t end = std::max(start, clamp(n.integer("end", rank)));
  return n.result(
      0, HostTensor::list({shape.begin() + start, shape.begin() + end}));
}

LogicalResult sizeOfInput(const Node &n) {
  if (!n.type(0))
    return n.fail("expected a tensor");
  HostTensor size(DType::I64, {});
  size.setInteger(0, n.type(0).getNumElements());
  return n.result(0, std::move(size));
}

LogicalResult reshape(const Node &n) {
  DLC_GET(auto target, n.integers(1, "the shape"));
  return reshapeTo(
      n, resolveReshape(n.shape(0), target, n.integer("allowzero", 0)));
}

LogicalResult flatten(const Node &n) {
  return reshapeTo(n, flattenShape(n.shape(0), n.integer("axis", 1)));
}

LogicalResult squeeze(const Node &n) {
  std::optional<std::vector<int64_t>> axes;
  if (n.has(1)) {
    DLC_GET(axes, n.integers(1, "axes"));
  } else if (n.has("axes")) {
    axes = n.integers("axes");
  }
  return reshapeTo(n, squeezeShape(n.shape(0), axes));
}

LogicalResult unsqueeze(const Node &n) {
  DLC_GET(auto axes, n.integersOr(1, "axes", n.integers("axes")));
  return reshapeTo(n, unsqueezeShape(n.shape(0), axes));
}

LogicalResult transpose(const Node &n) {
  std::vector<int64_t> reversed(n.shape(0).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  DLC_GET(auto perm, n.checked(normalizePerm(n.integers("perm", reversed),
                                             reversed.size())));
  return n.result(n.transpose(n.in(0), perm));
}

LogicalResult expand(const Node &n) {
  DLC_GET(auto target, n.integers(1, "the shape"));
  for (int64_t dim : target)
    if (dim < 0)
      return n.fail("cannot expand to {}", target);
  DLC_GET(auto shape, n.checked(broadcastShapes(n.shape(0), target)));
  return n.result(n.broadcast(n.in(0), shape));
}

/// [a, b] repeated r and s times: [1, a, 1, b] to [r, a, s, b] to [ra, sb].
/// Adjacent dimensions without repeats are merged.
LogicalResult tile(const Node &n) {
  DLC_GET(auto repeats, n.integers(1, "repeats"));
  Shape shape = n.shape(0), spread, filled;
  DLC_GET(auto merged, n.checked(tileShape(shape, repeats)));
  bool isWhole = false; // the last of spread has no repeats
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool repeated = repeats[d] != 1;
    if (repeated) {
      spread.push_back(1);
      filled.push_back(repeats[d]);
      isWhole = false;
    }
    if (repeated && shape[d] == 1)
      continue;
    if (!isWhole) {
      spread.push_back(1);
      filled.push_back(1);
    }
    spread.back() *= shape[d];
    filled.back() *= shape[d];
    isWhole = true;
  }
  if (spread.size() > kMaxRank)
    return n.fail("Tile of rank {} by repeats {} is not supported",
                  shape.size(), repeats);
  Value y = n.broadcast(n.reshape(n.in(0), spread), filled);
  return n.result(n.reshape(y, merged));
}

LogicalResult slice(const Node &n) {
  std::vector<int64_t> bounds[4];
  const char *names[] = {"starts", "ends", "axes", "steps"};
  for (size_t i = 0; i < 4; ++i) {
    if (i >= 2 && !n.has(i + 1))
      continue;
    DLC_GET(bounds[i], n.integers(i + 1, names[i]));
  }
  DLC_GET(auto resolved,
          n.checked(resolveSlice(n.shape(0), bounds[0], bounds[1], bounds[2],
                                 bounds[3])));
  return n.result(n.slice(n.in(0), resolved));
}

/// Splits input 0 along `axis` into parts of the given sizes.
FailureOr<std::vector<Value>>
partsOf(const Node &n, int64_t axis,
        const Result<std::vector<int64_t>> &sizes) {
  if (!sizes.ok())
    return n.fail(sizes.status());
  DLC_GET(Value x, n.in(0));
  // The number of parts of a sequence comes from the model's data.
  constexpr size_t kPartBytes = 1024;
  DLC_CHECK(n.check(
      n.table.budget().keep(sizes->size() * kPartBytes, "splitting a tensor")));
  Shape shape = shapeOf(x);
  SliceBounds bounds{Shape(shape.size(), 0), shape, Shape(shape.size(), 1)};
  std::vector<Value> parts;
  for (int64_t size : *sizes) {
    bounds.sizes[axis] = size;
    parts.push_back(n.slice(x, bounds));
    if (!parts.back())
      return failure();
    bounds.starts[axis] += size;
  }
  return parts;
}

LogicalResult split(const Node &n) {
  Shape shape = n.shape(0);
  DLC_GET(auto axis, n.axis("axis", 0, shape.size()));
  DLC_GET(auto sizes, n.integersOr(1, "split", n.integers("split")));
  int64_t outputs = n.outputs();
  auto resolved = splitSizes(shape[axis], sizes,
                             n.integer("num_outputs", outputs), outputs);
  DLC_GET(auto parts, partsOf(n, axis, resolved));
  for (auto [i, part] : llvm::enumerate(parts))
    DLC_CHECK(n.result(i, part));
  return success();
}

/// `split` is a scalar (size of each part, the last may be smaller), a list of
/// sizes, or absent (parts of size 1, without the dimension unless keepdims).
LogicalResult splitToSequence(const Node &n) {
  Shape shape = n.shape(0);
  DLC_GET(auto axis, n.axis("axis", 0, shape.size()));
  int64_t size = shape[axis];
  DLC_GET(auto sizes, n.integersOr(1, "split", {}));
  if (!n.has(1) || n.shape(1).empty()) {
    int64_t step = n.has(1) ? sizes[0] : 1;
    if (step <= 0 || size / step > 4096)
      return n.fail("cannot split dimension {} into parts of {}", size, step);
    sizes.clear();
    for (int64_t left = size; left > 0; left -= step)
      sizes.push_back(std::min(left, step));
  }
  DLC_GET(auto parts,
          partsOf(n, axis, splitSizes(size, sizes, 0, sizes.size())));
  if (!n.has(1) && !n.integer("keepdims", 1))
    for (Value &part : parts)
      part = squeezed(n.expr(part), axis);
  n.table.define(n.proto.output(0), std::move(parts));
  return success();
}

LogicalResult concat(const Node &n) {
  SmallVector<Value> operands;
  for (size_t i = 0; i < n.inputs(); ++i)
    operands.push_back(n.in(i));
  if (operands.empty() || llvm::is_contained(operands, Value()))
    return n.fail("an operand is missing");
  DLC_GET(auto axis, n.axis("axis", 0, shapeOf(operands[0]).size()));
  return n.result(n.make<ir::ConcatOp>(ValueRange(operands), uint64_t(axis)));
}

LogicalResult gather(const Node &n) {
  Value data = n.in(0), indices = n.in(1);
  if (!data || !indices)
    return failure();
  DLC_GET(auto axis, n.axis("axis", 0, shapeOf(data).size()));
  indices = n.cast(indices, n.b.getI64Type());
  auto row = n.table.padding(n.proto.output(0));
  return n.result(
      n.make<ir::GatherOp>(data, indices, uint64_t(axis),
                           row ? n.b.getI64IntegerAttr(*row) : IntegerAttr()));
}

/// A triangle of the last two dimensions: a select with a constant mask.
LogicalResult trilu(const Node &n, Expr x) {
  if (x.rank() < 2)
    return n.fail("rank {}, expected at least 2", x.rank());
  DLC_GET(auto k, n.numberOr(1, "k", 0));
  const Shape matrix(x.shape().take_back(2));
  Expr distance = iota(n, matrix, 1) - iota(n, matrix, 0);
  Expr keep = n.integer("upper", 1) ? distance >= k : distance <= k;
  return n.result(select(keep, x, 0));
}

} // namespace

void addShapeRows(Rows &rows) {
  rows["Shape"] = shapeOfInput;
  rows["Size"] = sizeOfInput;
  rows["Reshape"] = reshape;
  rows["Flatten"] = flatten;
  rows["Squeeze"] = squeeze;
  rows["Unsqueeze"] = unsqueeze;
  rows["Transpose"] = transpose;
  rows["Expand"] = expand;
  rows["Tile"] = tile;
  rows["Slice"] = slice;
  rows["Split"] = split;
  rows["SplitToSequence"] = splitToSequence;
  rows["Concat"] = concat;
  rows["Gather"] = gather;
  rows["Trilu"] = ofInputs<trilu>;
}

} // namespace dlc::import

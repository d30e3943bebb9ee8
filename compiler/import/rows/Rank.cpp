// SPDX-License-Identifier: Apache-2.0
// Ops that depend on the order of elements: argmax, top k, and cumulative
// operations.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// Limit on comparisons of all pairs along an axis, per step.
constexpr int64_t kMostCompared = int64_t(1) << 32;
/// Above this TopK selects elements sequentially if k is small.
constexpr int64_t kFewPairs = int64_t(1) << 26;

/// Reverses the order of x, without overflow.
Expr opposite(const Node &n, Expr x) {
  Type element = x.element();
  if (isa<FloatType>(element))
    return -x;
  x = x.cast(n.b.getI64Type());
  return -1.0 - x;
}

Expr argMax(Expr x, int64_t axis, bool keepdims) {
  return x.make<ir::ArgMaxOp>(x.v, ArrayRef<int64_t>(&axis, 1), keepdims);
}

LogicalResult argExtremum(const Node &n, bool smallest) {
  DLC_GET(auto x, input(n, 0));
  DLC_GET(auto axis, n.axis("axis", 0, x.rank()));
  const int64_t size = x.shape()[axis];
  if (size == 0)
    return n.fail("dimension {} is empty", axis);
  Expr y = smallest ? opposite(n, x) : x;
  const bool keepdims = n.integer("keepdims", 1) != 0;
  if (!n.integer("select_last_index", 0))
    return n.result(argMax(y, axis, keepdims));
  return n.result(double(size - 1) - argMax(reversed(y, axis), axis, keepdims));
}

/// Indices [..., k] of the k largest along the last axis, ties by index: an
/// element's rank is the number of elements that precede it.
Expr byRank(const Node &n, Expr x, int64_t k) {
  const int64_t axis = x.rank() - 1, size = x.shape()[axis];
  const Type index = n.b.getI64Type();
  Shape pairs = shapeOf(x);
  pairs.push_back(size);
  Expr own = unsqueezed(x, axis + 1), other = unsqueezed(x, axis);
  Shape plain(x.rank() - 1, 1);
  plain.insert(plain.end(), {size, size});
  Expr earlier = iota(n, plain, axis + 1) < iota(n, plain, axis);
  Expr tie = both(other == own, earlier);
  Expr larger = other > own;
  Expr before = either(larger, tie).cast(index);
  Expr rank = before.broadcast(pairs).sum({axis + 1}); // [..., n]
  Shape places = shapeOf(x);
  places.insert(places.begin() + axis, k);
  Expr hit = unsqueezed(rank, axis) == ramp(n, axis + 2, axis, k);
  Expr at = select(hit, iota(n, places, axis + 1), 0);
  // With NaNs some ranks are missing: the index is clamped to the dimension.
  return minimum(at.sum({axis + 1}), size - 1);
}

/// The same by k selections of the maximum; selected elements are lowered.
Expr oneByOne(const Node &n, Expr x, int64_t k) {
  const int64_t axis = x.rank() - 1;
  std::vector<Expr> found;
  for (int64_t i = 0; i < k; ++i) {
    found.push_back(argMax(x, axis, true));
    Expr taken = iota(n, shapeOf(x), axis) == found.back();
    x = select(taken, -INFINITY, x);
  }
  return joined(found, axis);
}

FailureOr<Expr> largest(const Node &n, Expr x, int64_t k) {
  const int64_t size = x.shape().back();
  if (k == 1)
    return argMax(x, x.rank() - 1, true);
  Shape pairs = shapeOf(x);
  pairs.push_back(size);
  auto count = countElements(pairs, "comparing all pairs");
  const bool isFloat = isa<FloatType>(x.element());
  if (isFloat && k <= 64 && k < size / 8 && (!count.ok() || *count > kFewPairs))
    return oneByOne(n, x, k);
  DLC_CHECK(checkFits(n, pairs, "comparing all pairs for TopK", kMostCompared));
  return byRank(n, x, k);
}

LogicalResult topK(const Node &n, Expr x) {
  DLC_GET(auto given, n.numberOr(1, "k", double(n.integer("k", 0))));
  const int64_t k = truncated(given);
  DLC_GET(auto axis, n.axis("axis", -1, x.rank()));
  const int64_t last = x.rank() - 1, size = x.shape()[axis];
  if (k < 0 || k > size)
    return n.fail("k is {} for a dimension of {}", k, size);
  Expr rows = moved(x, axis, last);
  if (k == 0) {
    Expr none = part(x, axis, 0, 0);
    return success(succeeded(n.result(0, none)) &&
                   succeeded(n.result(1, none.cast(n.b.getI64Type()))));
  }
  DLC_GET(auto at,
          largest(n, n.integer("largest", 1) ? rows : opposite(n, rows), k));
  const int64_t lines = sizeOf(shapeOf(rows)) / std::max<int64_t>(size, 1);
  Expr places = at.reshape({lines, k}) + iota(n, {lines, k}, 0) * double(size);
  Expr values = gathered(rows.reshape({lines * size}), places, 0);
  DLC_CHECK(n.result(0, moved(values.reshape(shapeOf(at)), last, axis)));
  return n.result(1, moved(at, last, axis));
}

/// Prefix combination by doubling: in steps 1, 2, 4, ... combines each element
/// with the one that many before it.
template <Expr (*combine)(Expr, Expr)>
LogicalResult cumulate(const Node &n, double neutral) {
  DLC_GET(auto x, input(n, 0));
  DLC_GET(auto given, n.integers(1, "the axis"));
  if (given.size() != 1)
    return n.fail("expected one axis, found {}", given.size());
  DLC_GET(const int64_t axis, n.checked(normalizeAxis(given[0], x.rank())));
  const int64_t size = x.shape()[axis];
  const bool isReversed = n.integer("reverse", 0) != 0;
  Expr y = isReversed ? reversed(x, axis) : x;
  auto delayed = [&](Expr v, int64_t by) {
    return padded(part(v, axis, 0, size - by), axis, by, 0, neutral);
  };
  if (n.integer("exclusive", 0) && size > 0)
    y = delayed(y, 1);
  for (int64_t by = 1; by < size; by *= 2)
    y = combine(y, delayed(y, by));
  return n.result(isReversed ? reversed(y, axis) : y);
}

Expr sumOf(Expr a, Expr b) { return a + b; }
Expr productOf(Expr a, Expr b) { return a * b; }

} // namespace

Expr firstExtremum(const Node &n, Expr x, int64_t axis, bool smallest,
                   bool keepdims) {
  Expr at = argMax(smallest ? opposite(n, x) : x, axis, true);
  return select(iota(n, shapeOf(x), axis) == at, x, 0).sum({axis}, keepdims);
}

void addRankRows(Rows &rows) {
  rows["ArgMax"] = [](const Node &n) { return argExtremum(n, false); };
  rows["ArgMin"] = [](const Node &n) { return argExtremum(n, true); };
  rows["TopK"] = ofInputs<topK>;
  rows["CumSum"] = [](const Node &n) { return cumulate<sumOf>(n, 0); };
  rows["CumProd"] = [](const Node &n) { return cumulate<productOf>(n, 1); };
}

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Gather and scatter in all forms: an index into the flattened data, then a
// plain gather, or sums by index. An index outside of its dimension becomes one
// outside of the data, which is an error of the step.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// Limit for results whose size is a product of two sizes.
constexpr int64_t kMostPairs = int64_t(1) << 28;

struct Linear {
  Expr place, valid;
};

/// Adds index * stride for an index of a dimension of `size`.
Linear step(Linear sum, Expr index, int64_t size, int64_t stride) {
  index = index.cast(sum.place.element());
  return {sum.place + wrapped(index, size) * double(stride),
          both(sum.valid, both(index >= -size, index < size))};
}

Linear start(const Node &n, const Shape &shape) {
  return {filled(n, shape, n.b.getI64Type(), 0),
          filled(n, shape, n.b.getI1Type(), 1)};
}

Expr finish(Linear sum, int64_t total) {
  return select(sum.valid, sum.place, total);
}

/// Wraps negative indices; indices outside of [-size, size) are an error of the
/// step, as in embedding lookups.
Expr refusing(const Node &n, Expr index, int64_t size) {
  return gathered(iota(n, {size}, 0), index.cast(n.b.getI64Type()), 0);
}

/// The same for indices that may not be negative: [0, size).
Expr refusingNegative(const Node &n, Expr count, int64_t size) {
  Expr index = count.cast(n.b.getI64Type());
  return refusing(n, select(inside(index, size), index, size), size);
}

/// Flat indices of GatherElements and ScatterElements into data of `shape`.
FailureOr<Expr> elementPlaces(const Node &n, Expr index, const Shape &shape,
                              int64_t axis) {
  Shape at = shapeOf(index);
  bool fits = at.size() == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = int64_t(d) == axis || at[d] <= shape[d];
  if (!fits)
    return n.fail(
        "indices of shape {} do not fit into data of shape {} along axis {}",
        at, shape, axis);
  Linear sum = start(n, at);
  int64_t stride = 1;
  for (int64_t d = shape.size(); d-- > 0; stride *= shape[d])
    if (d == axis)
      sum = step(sum, index, shape[d], stride);
    else if (at[d] != 1)
      sum.place = sum.place + iota(n, at, d) * double(stride);
  return finish(sum, sizeOf(shape));
}

LogicalResult gatherElements(const Node &n, Expr data, Expr index) {
  Shape shape = shapeOf(data);
  DLC_GET(auto axis, n.axis("axis", 0, shape.size()));
  DLC_GET(auto places, elementPlaces(n, index, shape, axis));
  return n.result(gathered(data.reshape({sizeOf(shape)}), places, 0));
}

/// The dimensions [from, to) of a shape.
Shape between(const Shape &shape, size_t from, size_t to) {
  return {shape.begin() + from, shape.begin() + to};
}
Shape operator+(Shape a, const Shape &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Operands of GatherND and ScatterND: data as [places, S...], and the flat
/// index of each tuple. `batch` dimensions are shared.
struct Tuples {
  Expr rows, places;
};
FailureOr<Tuples> tuplesOf(const Node &n, Expr data, Expr index,
                           int64_t batch) {
  Shape shape = shapeOf(data), at = shapeOf(index);
  const int64_t rank = shape.size(), tuple = at.empty() ? 0 : at.back();
  bool fits = batch >= 0 && batch < int64_t(at.size()) && batch <= rank &&
              tuple >= 0 && tuple + batch <= rank;
  for (int64_t d = 0; fits && d < batch; ++d)
    fits = at[d] == shape[d];
  if (!fits)
    return n.fail("tuples of indices of shape {} do not fit into data of shape "
                  "{} with {} batch dimensions",
                  at, shape, batch);
  at.pop_back();
  Linear sum = start(n, at);
  const Shape chosen = between(shape, 0, batch + tuple);
  int64_t stride = 1;
  for (int64_t d = batch + tuple; d-- > 0; stride *= shape[d])
    if (d < batch)
      sum.place = sum.place + iota(n, at, d) * double(stride);
    else
      sum = step(sum, sliceOf(index, at.size(), d - batch), shape[d], stride);
  Expr rows =
      data.reshape(Shape{sizeOf(chosen)} + between(shape, batch + tuple, rank));
  return Tuples{rows, finish(sum, sizeOf(chosen))};
}

LogicalResult gatherND(const Node &n, Expr data, Expr index) {
  DLC_GET(auto tuples, tuplesOf(n, data, index, n.integer("batch_dims", 0)));
  DLC_CHECK(checkFits(n,
                      shapeOf(tuples.places) +
                          between(shapeOf(tuples.rows), 1, tuples.rows.rank()),
                      "the result"));
  return n.result(gathered(tuples.rows, tuples.places, 0));
}

/// A float type that can represent sums of `element`s; 64-bit integers are
/// summed in halves.
Type sumType(const Node &n, Type element) {
  if (auto type = dyn_cast<FloatType>(element))
    return type.getWidth() < 32 ? n.b.getF32Type() : type;
  return n.b.getF64Type();
}

/// The mean of updates with equal indices: ONNX leaves these undefined unless
/// they are equal, and then the mean is equal, too.
Expr meanAt(const Node &n, Expr places, Expr updates, Expr count,
            int64_t size) {
  Type element = updates.element(), sum = sumType(n, element);
  auto mean = [&](Expr x) {
    return (scattered(places, x.cast(sum), size) / count.cast(sum))
        .cast(element);
  };
  if (!element.isInteger(64))
    return mean(updates);
  constexpr double kHalf = 4294967296.0;
  Expr high = updates / kHalf;
  return mean(high) * kHalf + mean(updates - high * kHalf);
}

} // namespace

Expr overwritten(const Node &n, Expr rows, Expr places, Expr updates) {
  const int64_t size = rows.shape()[0];
  Expr count =
      scattered(places, filled(n, shapeOf(places), n.b.getF32Type(), 1), size);
  count = count.reshape(lineShape(rows.rank(), 0, size));
  Expr mean = meanAt(n, places, updates, maximum(count, 1), size);
  Expr hit = count > 0;
  return select(hit, mean, rows);
}

namespace {

Expr added(const Node &n, Expr rows, Expr places, Expr updates) {
  Type element = rows.element(), sum = sumType(n, element);
  Expr sums = scattered(places, updates.cast(sum), rows.shape()[0]);
  return (rows.cast(sum) + sums).cast(element);
}

/// Neutral element of the reduction.
double neutralOf(const std::string &reduction, Type element) {
  if (reduction == "add" || reduction == "mul")
    return reduction == "mul";
  const bool isMax = reduction == "max";
  if (element.isInteger(1) || element.isInteger(8))
    return isMax ? 0 : element.isInteger(1) ? 1 : 255;
  return isMax ? -INFINITY : INFINITY;
}

Expr reduced(const std::string &reduction, Expr x) {
  const int64_t axis = x.rank() - 1;
  if (reduction == "mul")
    return productAlong(x, axis);
  if (reduction == "add")
    return x.sum({axis});
  return reduction == "max" ? x.max({axis}) : x.min({axis});
}

/// Reduces data [R..., P] with those updates [R..., U] whose index in [R... or
/// 1..., U] matches, by comparing all pairs.
FailureOr<Expr> pairwise(const Node &n, const std::string &reduction, Expr data,
                         Expr places, Expr updates) {
  const int64_t axis = data.rank();
  Shape shape = shapeOf(data), own = shape;
  own.push_back(updates.shape().back());
  const std::string what =
      "comparing indices for reduction '" + reduction + "'";
  DLC_CHECK(checkFits(n, own, what.c_str(), kMostPairs));
  Expr hit =
      unsqueezed(places, axis - 1) == ramp(n, axis + 1, axis - 1, shape.back());
  Expr none = updates.scalar(neutralOf(reduction, updates.element()));
  Expr chosen = select(hit, unsqueezed(updates, axis - 1), none).broadcast(own);
  return reduced(reduction, joined({unsqueezed(data, axis), chosen}, axis));
}

FailureOr<std::string> reductionOf(const Node &n) {
  auto name =
      n.choice("reduction", "none", {"none", "add", "mul", "max", "min"});
  if (succeeded(name) && *name == "none" && !n.host(1))
    emitWarning(n.loc)
        << "for equal indices ONNX does not define the result, and dlc uses "
           "the mean of the updates; torch's older exporter exports index_add "
           "as this operator: scatter_add is exported correctly";
  return name;
}

/// Sums of floats use scatter_add, which rounds like a sum.
bool isSparse(const std::string &reduction, Expr data) {
  return reduction == "none" ||
         (reduction == "add" && isa<FloatType>(data.element()));
}

Expr sparse(const Node &n, const std::string &reduction, Expr rows, Expr places,
            Expr updates) {
  return reduction == "none" ? overwritten(n, rows, places, updates)
                             : added(n, rows, places, updates);
}

/// Moves the axis to the end; if the indices have fewer elements than the data
/// in other dimensions, missing ones get an index outside of it.
FailureOr<Expr> pairwiseElements(const Node &n, const std::string &reduction,
                                 Expr data, Expr index, Expr updates,
                                 int64_t axis) {
  const int64_t last = data.rank() - 1;
  Expr places = refusing(n, index, data.shape()[axis]);
  for (int64_t d = 0; d <= last; ++d) {
    const int64_t missing = data.shape()[d] - places.shape()[d];
    if (d == axis || missing == 0)
      continue;
    places = padded(places, d, 0, missing, -1);
    updates = padded(updates, d, 0, missing);
  }
  DLC_GET(auto y,
          pairwise(n, reduction, moved(data, axis, last),
                   moved(places, axis, last), moved(updates, axis, last)));
  return moved(y, last, axis);
}

LogicalResult scatterElements(const Node &n, Expr data, Expr index,
                              Expr updates) {
  DLC_GET(auto reduction, reductionOf(n));
  Shape shape = shapeOf(data);
  DLC_GET(auto axis, n.axis("axis", 0, shape.size()));
  if (updates.shape() != index.shape())
    return n.fail("updates have shape {}, expected that of the indices, {}",
                  shapeOf(updates), shapeOf(index));
  DLC_GET(auto places, elementPlaces(n, index, shape, axis));
  if (!isSparse(reduction, data)) {
    DLC_GET(auto y, pairwiseElements(n, reduction, data, index, updates, axis));
    return n.result(y);
  }
  const int64_t count = sizeOf(shapeOf(index));
  Expr y = sparse(n, reduction, data.reshape({sizeOf(shape)}),
                  places.reshape({count}), updates.reshape({count}));
  return n.result(y.reshape(shape));
}

LogicalResult scatterND(const Node &n, Expr data, Expr index, Expr updates) {
  DLC_GET(auto reduction, reductionOf(n));
  DLC_GET(auto tuples, tuplesOf(n, data, index, 0));
  Expr rows = tuples.rows;
  Shape places = shapeOf(tuples.places),
        slice = between(shapeOf(rows), 1, rows.rank());
  if (shapeOf(updates) != places + slice)
    return n.fail("updates have shape {}, expected {}", shapeOf(updates),
                  places + slice);
  const int64_t count = sizeOf(places), inner = sizeOf(slice);
  Expr at = tuples.places.reshape({count});
  if (isSparse(reduction, data)) {
    Expr y =
        sparse(n, reduction, rows, at, updates.reshape(Shape{count} + slice));
    return n.result(y.reshape(shapeOf(data)));
  }
  const int64_t size = rows.shape()[0];
  auto y = pairwise(n, reduction, moved(rows.reshape({size, inner}), 0, 1),
                    refusing(n, at, size).reshape({1, count}),
                    moved(updates.reshape({count, inner}), 0, 1));
  return failed(y) ? failure()
                   : n.result(moved(*y, 0, 1).reshape(shapeOf(data)));
}

/// values[1] at the given index of the new dimension, else values[0].
LogicalResult oneHot(const Node &n) {
  DLC_GET(auto index, input(n, 0));
  DLC_GET(auto values, input(n, 2));
  DLC_GET(auto depth, n.number(1, "the depth"));
  Shape shape = shapeOf(index);
  DLC_GET(auto axis, n.axis("axis", -1, shape.size() + 1));
  if (shapeOf(values) != Shape{2})
    return n.fail("values have shape {}, expected [2]", shapeOf(values));
  const int64_t size = truncated(depth);
  shape.insert(shape.begin() + axis, size);
  DLC_CHECK(checkFits(n, shape, "the result"));
  Expr at = unsqueezed(index.cast(n.b.getI64Type()), axis);
  Expr hit = wrapped(at, size) == ramp(n, shape.size(), axis, size);
  Expr off = part(values, 0, 0, 1).reshape({}),
       on = part(values, 0, 1, 1).reshape({});
  return n.result(select(hit, on, off).broadcast(shape));
}

/// Reverses the first sequence_lens steps of each batch element.
LogicalResult reverseSequence(const Node &n, Expr x, Expr lengths) {
  DLC_GET(auto batch, n.axis("batch_axis", 1, x.rank()));
  DLC_GET(auto time, n.axis("time_axis", 0, x.rank()));
  if (batch == time || lengths.rank() != 1 ||
      lengths.shape()[0] != x.shape()[batch])
    return n.fail("batch_axis {} and time_axis {} do not fit to an input of "
                  "shape {} and lengths of shape {}",
                  batch, time, shapeOf(x), shapeOf(lengths));
  // [batch, time, ...] with the first two dimensions flattened
  const int64_t from = time + (time < batch ? 1 : 0);
  Expr front = moved(moved(x, batch, 0), from, 1);
  Shape shape = shapeOf(front), grid = between(shape, 0, 2);
  Expr step = iota(n, grid, 1),
       length = refusingNegative(n, lengths, grid[1] + 1).reshape({grid[0], 1});
  Expr source = select(step < length, length - 1.0 - step, step) +
                iota(n, grid, 0) * double(grid[1]);
  Expr rows =
      front.reshape(Shape{grid[0] * grid[1]} + between(shape, 2, shape.size()));
  Expr y = gathered(rows, source, 0);
  return n.result(moved(moved(y, 1, from), 0, batch));
}

/// Selects slices by a condition, which determines the result's shape.
LogicalResult compress(const Node &n, Expr x) {
  DLC_GET(auto keep, n.integers(1, "the condition"));
  int64_t axis = 0;
  Expr rows = x.reshape({sizeOf(shapeOf(x))});
  if (n.has("axis")) {
    DLC_GET(axis, n.axis("axis", 0, x.rank()));
    rows = x;
  }
  if (int64_t(keep.size()) > rows.shape()[axis])
    return n.fail("the condition has {} elements for a dimension of {}",
                  keep.size(), rows.shape()[axis]);
  std::vector<int64_t> chosen;
  for (auto [i, is] : llvm::enumerate(keep))
    if (is)
      chosen.push_back(i);
  auto index = known(n, HostTensor::list(std::move(chosen)), "chosen");
  return failed(index) ? failure() : n.result(gathered(rows, *index, axis));
}

/// past_cache with `update` written along the axis from write_indices[batch]
/// on.
LogicalResult tensorScatter(const Node &n, Expr past, Expr update) {
  Shape shape = shapeOf(past), added = shapeOf(update);
  DLC_GET(auto axis, n.axis("axis", -2, shape.size()));
  const bool circular = n.text("mode", "linear") == "circular";
  Shape same = added;
  if (same.size() == shape.size())
    same[axis] = shape[axis];
  if (axis == 0 || same != shape || added[axis] > shape[axis])
    return n.fail("an update of shape {} does not fit into {} along axis {}",
                  added, shape, axis);
  const int64_t batch = shape[0], size = shape[axis], steps = added[axis];
  if (sizeOf(added) == 0)
    return n.result(past);
  Expr first = filled(n, {batch}, n.b.getI64Type(), 0);
  if (n.has(2)) {
    DLC_GET(auto given, input(n, 2));
    if (shapeOf(given) != Shape{batch})
      return n.fail("write_indices have shape {}, expected [{}]",
                    shapeOf(given), batch);
    first = circular ? given : refusingNegative(n, given, size - steps + 1);
  }
  Expr at = iota(n, {batch, size}, 1) - first.reshape({batch, 1});
  if (circular)
    at = wrapped(at, size);
  Expr hit = inside(at, steps);
  Expr row = select(hit, at, 0) + iota(n, {batch, size}, 0) * double(steps);
  Expr front = moved(update, axis, 1);
  Shape rest = between(shapeOf(front), 2, front.rank());
  Expr y = moved(gathered(front.reshape(Shape{batch * steps} + rest), row, 0),
                 1, axis);
  Shape line(shape.size(), 1);
  line[0] = batch;
  line[axis] = size;
  return n.result(select(hit.reshape(line), y, past));
}

/// Folds if its input is known; else its result has no static shape.
LogicalResult nonZero(const Node &n) {
  return n.fail("NonZero is not supported here: how many elements are not 0 is "
                "known only when the model runs, and a program's shapes are "
                "fixed when it is compiled");
}

} // namespace

void addIndexRows(Rows &rows) {
  rows["GatherElements"] = ofInputs<gatherElements>;
  rows["GatherND"] = ofInputs<gatherND>;
  rows["ScatterElements"] = ofInputs<scatterElements>;
  rows["Scatter"] = ofInputs<scatterElements>;
  rows["ScatterND"] = ofInputs<scatterND>;
  rows["OneHot"] = oneHot;
  rows["ReverseSequence"] = ofInputs<reverseSequence>;
  rows["Compress"] = ofInputs<compress>;
  rows["TensorScatter"] = ofInputs<tensorScatter>;
  rows["NonZero"] = nonZero;
}

} // namespace dlc::import

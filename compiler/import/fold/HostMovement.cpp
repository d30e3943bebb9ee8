// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/tensor/TensorData.h"
#include "compiler/reference/Views.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <numeric>

namespace dlc::import {
namespace {

using reference::stridesOf;
using reference::View;
using reference::walk;

/// Copies the elements of x that a view selects.
HostResults seen(HostCall &call, const HostTensor &x, const View &view) {
  DLC_ASSIGN(auto y, call.make(x.dtype, view.shape));
  using At = std::array<int64_t, 1>;
  walk(view.shape, std::array{view.strides}, At{view.first},
       [&, &y = y](int64_t i, const At &at) { y.copyElement(i, x, at[0]); });
  return one(std::move(y));
}

/// Copies x with another shape.
HostResults reshaped(const HostTensor &x, const Result<Shape> &shape) {
  if (!shape.ok())
    return shape.status();
  return one(x.reshaped(*shape));
}

/// An input as a list of integers.
Result<std::vector<int64_t>> list(HostCall &call, size_t index) {
  const HostTensor *input = call.input(index);
  if (!input)
    return std::vector<int64_t>();
  DLC_TRY(call.work(input->elements()));
  return input->integers();
}

/// Squeeze, Unsqueeze and Split have an input since opset 13, an attribute
/// before; reads either.
Result<std::vector<int64_t>> inputOrAttribute(HostCall &call, size_t index,
                                              const char *attribute) {
  return call.input(index) ? list(call, index) : call.node.integers(attribute);
}

HostResults constant(HostCall &call) {
  const NodeView &node = call.node;
  if (const auto *attribute = node.find("value")) {
    WeightStore store;
    ExternalData none("", call.budget);
    if (attribute->t().data_location() == onnx::TensorProto::EXTERNAL)
      return badModel("a Constant with external data is not supported");
    DLC_TRY(addTensor(attribute->t(), "value", none, store));
    const Weight &weight = *store.find("value");
    DLC_TRY(call.work(weight.elements()));
    DLC_ASSIGN(auto lease,
               call.budget.take(HostTensor::bytesOf(weight.elements()),
                                "the constant's value"));
    return one(HostTensor::from(weight, std::move(lease)));
  }
  if (node.has("value_int"))
    return one(HostTensor::scalar(DType::I64, node.integer("value_int", 0)));
  if (node.has("value_ints"))
    return one(HostTensor::list(node.integers("value_ints")));
  if (node.has("value_float"))
    return one(HostTensor::scalar(DType::F32, node.number("value_float", 0)));
  if (const auto *attribute = node.find("value_floats")) {
    DLC_ASSIGN(auto y, call.make(DType::F32, {attribute->floats_size()}));
    for (int i = 0; i < attribute->floats_size(); ++i)
      y.setNumber(i, attribute->floats(i));
    return one(std::move(y));
  }
  return badModel("expected one of value, value_int(s) and value_float(s)");
}

HostResults constantOfShape(HostCall &call) {
  DLC_ASSIGN(Shape shape, list(call, 0));
  HostTensor fill = HostTensor::scalar(DType::F32, 0);
  if (call.node.has("value")) {
    HostCall read{call.node, {}, call.budget};
    DLC_ASSIGN(auto value, constant(read));
    fill = std::move(value[0]);
    if (fill.elements() != 1)
      return badModel("value has {} elements, expected 1", fill.elements());
  }
  return seen(call, fill, {shape, Shape(shape.size(), 0)});
}

/// ceil((limit - start) / step), exact for integers; negative if not finite.
int64_t countOf(const HostTensor &start, const HostTensor &limit,
                const HostTensor &step) {
  constexpr int64_t kMost = int64_t(1) << 40;
  if (start.holdsFloats()) {
    double count =
        std::ceil((limit.number(0) - start.number(0)) / step.number(0));
    return count < double(kMost) ? int64_t(std::max(0.0, count)) : -1;
  }
  __int128 delta = step.integer(0), span = limit.integer(0);
  span -= start.integer(0);
  if (delta == 0)
    return -1;
  __int128 count =
      span / delta + (span % delta != 0 && (span < 0) == (delta < 0));
  return count > kMost ? -1 : int64_t(std::max<__int128>(0, count));
}

HostResults range(HostCall &call) {
  for (const HostTensor *input : call.inputs)
    if (!input || input->elements() != 1 ||
        input->dtype != call.input(0)->dtype)
      return badModel("expected three scalars of one type");
  const HostTensor &start = *call.input(0), &limit = *call.input(1),
                   &step = *call.input(2);
  int64_t count = countOf(start, limit, step);
  if (count < 0)
    return badModel("range from {} to {} by {} is not finite", start.number(0),
                    limit.number(0), step.number(0));
  DLC_ASSIGN(auto y, call.make(start.dtype, {count}));
  for (int64_t i = 0; i < count; ++i)
    if (y.holdsFloats())
      y.setNumber(i, start.number(0) + i * step.number(0));
    else
      y.setInteger(i, int64_t(uint64_t(start.integer(0)) +
                              uint64_t(i) * uint64_t(step.integer(0))));
  return one(std::move(y));
}

/// Views x as [outer, size, inner] around the axis.
HostResults gather(HostCall &call) {
  const HostTensor &x = *call.input(0), &index = *call.input(1);
  DLC_ASSIGN(auto axis,
             normalizeAxis(call.node.integer("axis", 0), x.shape.size()));
  const int64_t size = x.shape[axis], count = index.elements();
  DLC_TRY(call.work(count));
  for (int64_t i = 0; i < count; ++i)
    if (int64_t at = index.integer(i); at < -size || at >= size)
      return badModel("index {} is out of range for dimension {}", at, size);
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), index.shape.begin(), index.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  DLC_ASSIGN(auto y, call.make(x.dtype, shape));
  const int64_t inner = stridesOf(x.shape)[axis];
  for (int64_t to = 0, total = y.elements(); to < total; to += inner) {
    int64_t at = index.integer(to / inner % count), outer = to / inner / count;
    int64_t from = (outer * size + (at < 0 ? at + size : at)) * inner;
    for (int64_t i = 0; i < inner; ++i)
      y.copyElement(to + i, x, from + i);
  }
  return one(std::move(y));
}

/// Each row of the last dimension of indices is the place of an element, or of
/// a slice, behind `batch` shared dimensions.
HostResults gatherNd(HostCall &call) {
  const HostTensor &x = *call.input(0), &index = *call.input(1);
  const size_t batch = size_t(call.node.integer("batch_dims", 0)),
               width = index.shape.empty() ? 0 : size_t(index.shape.back());
  if (!width || batch >= index.shape.size() || batch > x.shape.size() ||
      width > x.shape.size() - batch ||
      !std::equal(x.shape.begin(), x.shape.begin() + batch,
                  index.shape.begin()))
    return badModel("indices of shape {} do not fit data of shape {}",
                    toString(index.shape), toString(x.shape));
  DLC_TRY(call.work(index.elements()));
  Shape shape(index.shape.begin(), index.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + batch + width, x.shape.end());
  DLC_ASSIGN(auto y, call.make(x.dtype, shape));
  const Shape strides = stridesOf(x.shape);
  const int64_t inner = strides[batch + width - 1],
                rows = index.elements() / int64_t(width),
                each = std::accumulate(index.shape.begin() + batch,
                                       index.shape.end() - 1, int64_t(1),
                                       std::multiplies<int64_t>());
  for (int64_t row = 0; row < rows; ++row) {
    int64_t from = batch ? row / each * strides[batch - 1] : 0;
    for (size_t i = 0; i < width; ++i) {
      const int64_t at = index.integer(row * int64_t(width) + int64_t(i)),
                    size = x.shape[batch + i];
      if (at < -size || at >= size)
        return badModel("index {} is out of range for dimension {}", at, size);
      from += (at < 0 ? at + size : at) * strides[batch + i];
    }
    for (int64_t i = 0; i < inner; ++i)
      y.copyElement(row * inner + i, x, from + i);
  }
  return one(std::move(y));
}

HostResults slice(HostCall &call) {
  const HostTensor &x = *call.input(0);
  std::vector<int64_t> given[4];
  for (size_t i = 0; i < 4; ++i) {
    DLC_ASSIGN(given[i], list(call, i + 1));
  }
  DLC_ASSIGN(auto bounds,
             resolveSlice(x.shape, given[0], given[1], given[2], given[3]));
  return seen(
      call, x,
      reference::sliced(x.shape, bounds.starts, bounds.sizes, bounds.steps));
}

HostResults transpose(HostCall &call) {
  const HostTensor &x = *call.input(0);
  std::vector<int64_t> reversed(x.shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  DLC_ASSIGN(auto perm, normalizePerm(call.node.integers("perm", reversed),
                                      x.shape.size()));
  return seen(call, x, reference::transposed(x.shape, perm));
}

HostResults expand(HostCall &call) {
  const HostTensor &x = *call.input(0);
  DLC_ASSIGN(Shape target, list(call, 1));
  DLC_ASSIGN(Shape shape, broadcastShapes(x.shape, target));
  return seen(call, x, reference::broadcast(x.shape, shape));
}

/// [a, b] repeated r and s times is a view [r, a, s, b] with strides 0.
HostResults tile(HostCall &call) {
  const HostTensor &x = *call.input(0);
  DLC_ASSIGN(auto repeats, list(call, 1));
  DLC_ASSIGN(Shape shape, tileShape(x.shape, repeats));
  DLC_ASSIGN(auto y, call.make(x.dtype, shape));
  Shape spread, strides, own = stridesOf(x.shape);
  for (size_t d = 0; d < own.size(); ++d) {
    spread.insert(spread.end(), {repeats[d], x.shape[d]});
    strides.insert(strides.end(), {0, own[d]});
  }
  using At = std::array<int64_t, 1>;
  walk(spread, std::array{strides}, At{},
       [&, &y = y](int64_t i, const At &at) { y.copyElement(i, x, at[0]); });
  return one(std::move(y));
}

HostResults trilu(HostCall &call) {
  const HostTensor &x = *call.input(0);
  if (x.shape.size() < 2)
    return badModel("rank {}, expected at least 2", x.shape.size());
  if (call.input(1) && call.input(1)->elements() != 1)
    return badModel("k has {} elements, expected 1", call.input(1)->elements());
  __int128 k = call.input(1) ? call.input(1)->integer(0) : 0;
  bool upper = call.node.integer("upper", 1);
  DLC_ASSIGN(auto y, call.make(x.dtype, x.shape));
  const int64_t rows = x.shape.end()[-2], columns = x.shape.back();
  for (int64_t i = 0, count = y.elements(); i < count; ++i) {
    __int128 distance = i % columns - i / columns % rows;
    if (upper ? distance >= k : distance <= k)
      y.copyElement(i, x, i);
  }
  return one(std::move(y));
}

HostResults concat(HostCall &call) {
  if (call.inputs.empty())
    return badModel("no operands");
  DLC_TRY(call.require(call.inputs.size()));
  const HostTensor &first = *call.input(0);
  DLC_ASSIGN(auto axis,
             normalizeAxis(call.node.integer("axis", 0), first.shape.size()));
  Shape shape = first.shape;
  shape[axis] = 0;
  for (const HostTensor *x : call.inputs) {
    Shape same = x->shape;
    bool fits = same.size() == shape.size() && x->dtype == first.dtype;
    if (fits) {
      shape[axis] += same[axis];
      same[axis] = first.shape[axis];
    }
    if (!fits || same != first.shape)
      return badModel("operands {} and {} do not concatenate along axis {}",
                      toString(first.shape), toString(x->shape), axis);
  }
  DLC_ASSIGN(auto y, call.make(first.dtype, shape));
  if (y.elements() == 0)
    return one(std::move(y));
  int64_t outer = 1, inner = 1, to = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    (int64_t(d) < axis ? outer : inner) *= int64_t(d) == axis ? 1 : shape[d];
  DLC_TRY(call.budget.work(uint64_t(outer) * call.inputs.size(), "Concat"));
  for (int64_t row = 0; row < outer; ++row)
    for (const HostTensor *x : call.inputs)
      for (int64_t i = 0, run = x->shape[axis] * inner; i < run; ++i)
        y.copyElement(to++, *x, row * run + i);
  return one(std::move(y));
}

HostResults split(HostCall &call) {
  const HostTensor &x = *call.input(0);
  DLC_ASSIGN(auto axis,
             normalizeAxis(call.node.integer("axis", 0), x.shape.size()));
  const int64_t outputs = call.node.proto.output_size();
  DLC_ASSIGN(auto given, inputOrAttribute(call, 1, "split"));
  DLC_ASSIGN(auto sizes,
             splitSizes(x.shape[axis], given,
                        call.node.integer("num_outputs", outputs), outputs));
  std::vector<HostTensor> parts;
  int64_t start = 0;
  Shape strides = stridesOf(x.shape), shape = x.shape;
  for (int64_t size : sizes) {
    shape[axis] = size;
    DLC_ASSIGN(auto part,
               seen(call, x, {shape, strides, start * strides[axis]}));
    parts.push_back(std::move(part[0]));
    start += size;
  }
  return parts;
}

HostResults squeeze(HostCall &call) {
  const HostTensor &x = *call.input(0);
  std::optional<std::vector<int64_t>> axes;
  if (call.input(1) || call.node.has("axes")) {
    DLC_ASSIGN(axes, inputOrAttribute(call, 1, "axes"));
  }
  return reshaped(x, squeezeShape(x.shape, axes));
}

HostResults unsqueeze(HostCall &call) {
  const HostTensor &x = *call.input(0);
  DLC_ASSIGN(auto axes, inputOrAttribute(call, 1, "axes"));
  return reshaped(x, unsqueezeShape(x.shape, axes));
}

HostResults reshape(HostCall &call) {
  const HostTensor &x = *call.input(0);
  DLC_ASSIGN(auto target, list(call, 1));
  return reshaped(
      x, resolveReshape(x.shape, target, call.node.integer("allowzero", 0)));
}

HostResults flatten(HostCall &call) {
  const HostTensor &x = *call.input(0);
  return reshaped(x, flattenShape(x.shape, call.node.integer("axis", 1)));
}

HostResults nonZero(HostCall &call) {
  const HostTensor &x = *call.input(0);
  if (x.shape.empty())
    return badModel("expected at least rank 1");
  DLC_TRY(call.work(x.elements()));
  std::vector<int64_t> places;
  for (int64_t i = 0, total = x.elements(); i < total; ++i)
    if (x.number(i) != 0)
      places.push_back(i);
  const int64_t count = places.size(), rank = x.shape.size();
  DLC_ASSIGN(auto y, call.make(DType::I64, {rank, count}));
  for (int64_t d = rank; d-- > 0;)
    for (int64_t i = 0; i < count; ++i) {
      y.setInteger(d * count + i, places[i] % x.shape[d]);
      places[i] /= x.shape[d];
    }
  return one(std::move(y));
}

/// torch's older exporter uses OneHot to count repeats of repeat_interleave.
HostResults oneHot(HostCall &call) {
  const HostTensor &places = *call.input(0), &depth = *call.input(1),
                   &values = *call.input(2);
  if (depth.elements() != 1 || values.shape != Shape{2} || depth.integer(0) < 0)
    return badModel("expected one depth of 0 or more, and 2 values, found {} "
                    "and {}",
                    depth.elements() == 1 ? std::to_string(depth.integer(0))
                                          : toString(depth.shape),
                    toString(values.shape));
  Shape shape = places.shape;
  DLC_ASSIGN(int64_t axis, normalizeAxis(call.node.integer("axis", -1),
                                         int64_t(shape.size()) + 1));
  const int64_t count = depth.integer(0);
  const int64_t inner = std::accumulate(shape.begin() + axis, shape.end(),
                                        int64_t(1), std::multiplies<int64_t>());
  shape.insert(shape.begin() + axis, count);
  DLC_ASSIGN(auto y, call.make(values.dtype, shape));
  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t place = places.integer(i / (inner * count) * inner + i % inner);
    place += place < 0 ? count : 0;
    y.copyElement(i, values, place == i / inner % count ? 1 : 0);
  }
  return one(std::move(y));
}

} // namespace

void addHostMovement(HostOps &ops) {
  ops["Constant"] = {0, constant};
  ops["ConstantOfShape"] = {1, constantOfShape};
  ops["Range"] = {3, range};
  ops["Gather"] = {2, gather};
  ops["GatherND"] = {2, gatherNd};
  ops["Slice"] = {3, slice};
  ops["Transpose"] = {1, transpose};
  ops["Expand"] = {2, expand};
  ops["Tile"] = {2, tile};
  ops["Trilu"] = {1, trilu};
  ops["Concat"] = {0, concat};
  ops["Split"] = {1, split};
  ops["Squeeze"] = {1, squeeze};
  ops["Flatten"] = {1, flatten};
  ops["Unsqueeze"] = {1, unsqueeze};
  ops["Reshape"] = {2, reshape};
  ops["Identity"] = {1, [](HostCall &c) { return one(*c.input(0)); }};
}

void addHostIndex(HostOps &ops) {
  ops["NonZero"] = {1, nonZero};
  ops["OneHot"] = {3, oneHot};
}

} // namespace dlc::import

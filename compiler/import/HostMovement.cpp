#include "compiler/import/DataType.h"
#include "compiler/import/HostEval.h"
#include "compiler/import/TensorData.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <functional>
#include <numeric>

namespace dlc::import {
namespace {

HostResults one(HostTensor tensor) {
  std::vector<HostTensor> results;
  results.push_back(std::move(tensor));
  return results;
}

Result<HostTensor> required(HostCall &call, size_t index) {
  DLC_TRY(call.require(index + 1));
  return *call.input(index);
}

Shape stridesOf(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

/// y of `shape`, each element copied from x at the linear index that `source`
/// gives for y's coordinates; a negative index leaves zero.
HostResults move(HostCall &call, const HostTensor &x, const Shape &shape,
                 const std::function<int64_t(const Shape &)> &source) {
  DLC_ASSIGN(auto y, call.make(x.dtype, shape));
  Shape at(shape.size(), 0);
  for (int64_t i = 0, count = y.elements(); i < count; ++i) {
    if (int64_t from = source(at); from >= 0)
      y.copyElement(i, x, from);
    for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];)
      at[d] = 0;
  }
  return one(std::move(y));
}

/// The same elements in another shape.
HostResults reshaped(HostCall &call, const HostTensor &x,
                     const Result<Shape> &shape) {
  if (!shape.ok())
    return shape.status();
  DLC_ASSIGN(auto y, call.make(x.dtype, *shape));
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    y.copyElement(i, x, i);
  return one(std::move(y));
}

/// From opset 13 Squeeze, Unsqueeze and Split take an input where they had an
/// attribute; both are read.
std::vector<int64_t> inputOrAttribute(HostCall &call, size_t index,
                                      const char *attribute) {
  return call.input(index) ? call.input(index)->integers()
                           : call.node.integers(attribute);
}

HostResults constant(HostCall &call) {
  const NodeView &node = call.node;
  if (const auto *attribute = node.find("value")) {
    WeightStore store;
    ExternalData none("");
    if (attribute->t().data_location() == onnx::TensorProto::EXTERNAL)
      return badModel("a Constant with external data is not supported");
    DLC_TRY(addTensor(attribute->t(), "value", none, store));
    const Weight &weight = *store.find("value");
    if (auto space = call.make(weight.dtype, weight.shape); !space.ok())
      return space.status();
    return one(HostTensor::from(weight));
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
  DLC_ASSIGN(auto dims, required(call, 0));
  HostTensor fill = HostTensor::scalar(DType::F32, 0);
  if (call.node.has("value")) {
    HostCall read{call.node, {}, call.budget};
    auto value = constant(read);
    if (!value.ok())
      return value;
    fill = std::move((*value)[0]);
    if (fill.elements() != 1)
      return badModel("value has {} elements, expected 1", fill.elements());
  }
  return move(call, fill, dims.integers(), [](const Shape &) { return 0; });
}

HostResults range(HostCall &call) {
  DLC_TRY(call.require(3));
  for (const HostTensor *input : call.inputs)
    if (input->elements() != 1 || input->dtype != call.input(0)->dtype)
      return badModel("expected three scalars of one type");
  const HostTensor &start = *call.input(0), &step = *call.input(2);
  double first = start.number(0), last = call.input(1)->number(0),
         delta = step.number(0);
  double count = std::max(0.0, std::ceil((last - first) / delta));
  if (!(count < 1e12))
    return badModel("range from {} to {} by {} is not finite", first, last,
                    delta);
  DLC_ASSIGN(auto y, call.make(start.dtype, {int64_t(count)}));
  for (int64_t i = 0; i < y.elements(); ++i)
    if (y.holdsFloats())
      y.setNumber(i, first + i * delta);
    else
      y.setInteger(i, int64_t(uint64_t(start.integer(0)) +
                              uint64_t(i) * uint64_t(step.integer(0))));
  return one(std::move(y));
}

HostResults gather(HostCall &call) {
  DLC_TRY(call.require(2));
  const HostTensor &x = *call.input(0), &index = *call.input(1);
  DLC_ASSIGN(auto axis,
             normalizeAxis(call.node.integer("axis", 0), x.shape.size()));
  int64_t size = x.shape[axis];
  for (int64_t i : index.integers())
    if (i < -size || i >= size)
      return badModel("index {} is out of range for dimension {}", i, size);
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), index.shape.begin(), index.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  Shape strides = stridesOf(x.shape), inner = stridesOf(index.shape);
  return move(call, x, shape, [&, axis = axis](const Shape &at) {
    int64_t which = 0, from = 0;
    for (size_t d = 0; d < index.shape.size(); ++d)
      which += at[axis + d] * inner[d];
    int64_t i = index.integer(which);
    for (int64_t d = 0; d < int64_t(x.shape.size()); ++d) {
      int64_t shift = d > axis ? int64_t(index.shape.size()) - 1 : 0;
      from += (d == axis ? (i < 0 ? i + size : i) : at[d + shift]) * strides[d];
    }
    return from;
  });
}

HostResults slice(HostCall &call) {
  DLC_TRY(call.require(3));
  const HostTensor &x = *call.input(0);
  auto optional = [&](size_t i) {
    return call.input(i) ? call.input(i)->integers() : std::vector<int64_t>();
  };
  DLC_ASSIGN(auto bounds, resolveSlice(x.shape, optional(1), optional(2),
                                       optional(3), optional(4)));
  Shape strides = stridesOf(x.shape);
  return move(call, x, bounds.sizes, [&](const Shape &at) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d)
      from += (bounds.starts[d] + at[d] * bounds.steps[d]) * strides[d];
    return from;
  });
}

HostResults transpose(HostCall &call) {
  DLC_ASSIGN(auto x, required(call, 0));
  std::vector<int64_t> reversed(x.shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  auto perm = call.node.integers("perm", reversed);
  auto sorted = normalizeAxes(perm, x.shape.size());
  if (!sorted.ok() || perm.size() != x.shape.size())
    return badModel("perm {} is not a permutation for rank {}", toString(perm),
                    x.shape.size());
  Shape shape, strides = stridesOf(x.shape);
  for (int64_t axis : perm)
    shape.push_back(x.shape[axis]);
  return move(call, x, shape, [&](const Shape &at) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d)
      from += at[d] * strides[perm[d]];
    return from;
  });
}

HostResults expandTo(HostCall &call, const HostTensor &x,
                     const Result<Shape> &shape) {
  if (!shape.ok())
    return shape.status();
  Shape strides = stridesOf(x.shape);
  size_t lead = shape->size() - x.shape.size();
  return move(call, x, *shape, [&](const Shape &at) {
    int64_t from = 0;
    for (size_t d = 0; d < x.shape.size(); ++d)
      from += x.shape[d] == 1 ? 0 : at[lead + d] * strides[d];
    return from;
  });
}

HostResults expand(HostCall &call) {
  DLC_TRY(call.require(2));
  const HostTensor &x = *call.input(0);
  return expandTo(call, x, broadcastShapes(x.shape, call.input(1)->integers()));
}

HostResults tile(HostCall &call) {
  DLC_TRY(call.require(2));
  const HostTensor &x = *call.input(0);
  auto repeats = call.input(1)->integers();
  if (repeats.size() != x.shape.size())
    return badModel("{} repeats for rank {}", repeats.size(), x.shape.size());
  Shape shape = x.shape, strides = stridesOf(x.shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (repeats[d] < 0 ||
        __builtin_mul_overflow(shape[d], repeats[d], &shape[d]))
      return badModel("repeat {} is not valid for dimension {}", repeats[d],
                      x.shape[d]);
  return move(call, x, shape, [&](const Shape &at) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d)
      from += at[d] % x.shape[d] * strides[d];
    return from;
  });
}

HostResults trilu(HostCall &call) {
  DLC_ASSIGN(auto x, required(call, 0));
  if (x.shape.size() < 2)
    return badModel("rank {}, expected at least 2", x.shape.size());
  if (call.input(1) && call.input(1)->elements() != 1)
    return badModel("k has {} elements, expected 1", call.input(1)->elements());
  __int128 k = call.input(1) ? call.input(1)->integer(0) : 0;
  bool upper = call.node.integer("upper", 1);
  Shape strides = stridesOf(x.shape);
  return move(call, x, x.shape, [&](const Shape &at) -> int64_t {
    __int128 row = at[at.size() - 2], column = at.back();
    bool keep = upper ? column - row >= k : column - row <= k;
    return keep ? std::inner_product(at.begin(), at.end(), strides.begin(),
                                     int64_t(0))
                : -1;
  });
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
  int64_t outer = 1, inner = 1, to = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    (int64_t(d) < axis ? outer : inner) *= int64_t(d) == axis ? 1 : shape[d];
  for (int64_t row = 0; row < outer; ++row)
    for (const HostTensor *x : call.inputs)
      for (int64_t i = 0, run = x->shape[axis] * inner; i < run; ++i)
        y.copyElement(to++, *x, row * run + i);
  return one(std::move(y));
}

HostResults split(HostCall &call) {
  DLC_ASSIGN(auto x, required(call, 0));
  DLC_ASSIGN(auto axis,
             normalizeAxis(call.node.integer("axis", 0), x.shape.size()));
  DLC_ASSIGN(auto sizes,
             splitSizes(x.shape[axis], inputOrAttribute(call, 1, "split"),
                        call.node.proto.output_size()));
  std::vector<HostTensor> parts;
  int64_t start = 0;
  Shape strides = stridesOf(x.shape);
  for (int64_t size : sizes) {
    Shape shape = x.shape;
    shape[axis] = size;
    auto part = move(call, x, shape, [&](const Shape &at) {
      int64_t from = start * strides[axis];
      return std::inner_product(at.begin(), at.end(), strides.begin(), from);
    });
    if (!part.ok())
      return part;
    parts.push_back(std::move((*part)[0]));
    start += size;
  }
  return parts;
}

HostResults squeeze(HostCall &call) {
  DLC_ASSIGN(auto x, required(call, 0));
  std::optional<std::vector<int64_t>> axes;
  if (call.input(1) || call.node.has("axes"))
    axes = inputOrAttribute(call, 1, "axes");
  return reshaped(call, x, squeezeShape(x.shape, axes));
}

HostResults flatten(HostCall &call) {
  DLC_ASSIGN(auto x, required(call, 0));
  int64_t rank = x.shape.size(), axis = call.node.integer("axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    return badModel("axis {} is out of range for rank {}", axis, rank);
  Shape shape{1, 1};
  for (int64_t d = 0; d < rank; ++d)
    shape[d < axis ? 0 : 1] *= x.shape[d];
  return reshaped(call, x, shape);
}

} // namespace

void addHostMovement(HostOps &ops) {
  ops["Constant"] = constant;
  ops["ConstantOfShape"] = constantOfShape;
  ops["Range"] = range;
  ops["Gather"] = gather;
  ops["Slice"] = slice;
  ops["Transpose"] = transpose;
  ops["Expand"] = expand;
  ops["Tile"] = tile;
  ops["Trilu"] = trilu;
  ops["Concat"] = concat;
  ops["Split"] = split;
  ops["Squeeze"] = squeeze;
  ops["Flatten"] = flatten;
  ops["Unsqueeze"] = [](HostCall &c) -> HostResults {
    DLC_TRY(c.require(1));
    return reshaped(
        c, *c.input(0),
        unsqueezeShape(c.input(0)->shape, inputOrAttribute(c, 1, "axes")));
  };
  ops["Reshape"] = [](HostCall &c) -> HostResults {
    DLC_TRY(c.require(2));
    return reshaped(c, *c.input(0),
                    resolveReshape(c.input(0)->shape, c.input(1)->integers(),
                                   c.node.integer("allowzero", 0)));
  };
  ops["Identity"] = [](HostCall &c) -> HostResults {
    DLC_TRY(c.require(1));
    return reshaped(c, *c.input(0), c.input(0)->shape);
  };
}

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/reference/Scalars.h"
#include "compiler/reference/Views.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <cmath>

namespace dlc::import {
namespace {

using reference::broadcastStrides;
using reference::Fold;
using reference::Scalar;
using reference::walk;

/// ONNX ops that dlc's dialect lacks.
const Scalar kXor{nullptr,
                  [](const int64_t *x, bool &) { return x[0] ^ x[1]; }};
const Scalar kIsNan{[](const double *x) { return double(std::isnan(x[0])); }};
/// Mod has the divisor's sign, or the dividend's with fmod.
const Scalar kMod{nullptr, [](const int64_t *x, bool &defined) {
                    defined = x[1] != 0;
                    int64_t rest = x[1] == 0 || x[1] == -1 ? 0 : x[0] % x[1];
                    bool differ = rest != 0 && (rest < 0) != (x[1] < 0);
                    return differ ? rest + x[1] : rest;
                  }};
const Scalar kFmod{[](const double *x) { return std::fmod(x[0], x[1]); },
                   [](const int64_t *x, bool &defined) {
                     defined = x[1] != 0;
                     return x[1] == 0 || x[1] == -1 ? 0 : x[0] % x[1];
                   }};

Status undefined(const HostTensor &x) {
  return badModel("the operation is not defined for these values of type {}",
                  onnxTypeName(toOnnxType(x.dtype)));
}

HostResults binary(HostCall &call, const Scalar &op, bool predicate) {
  const HostTensor &a = *call.input(0), &b = *call.input(1);
  if (a.dtype != b.dtype)
    return badModel("operands have types {} and {}, expected one type",
                    onnxTypeName(toOnnxType(a.dtype)),
                    onnxTypeName(toOnnxType(b.dtype)));
  DLC_ASSIGN(auto shape, broadcastShapes(a.shape, b.shape));
  DLC_ASSIGN(auto y, call.make(predicate ? DType::Bool : a.dtype, shape));
  bool valid = a.holdsFloats() ? op.onFloats != nullptr : op.onInts != nullptr;
  using At = std::array<int64_t, 2>;
  std::array<Shape, 2> strides{broadcastStrides(a.shape, shape),
                               broadcastStrides(b.shape, shape)};
  if (valid && a.holdsFloats())
    walk(shape, strides, At{}, [&](int64_t i, const At &at) {
      const double x[] = {a.number(at[0]), b.number(at[1])};
      y.setNumber(i, op.onFloats(x));
    });
  else if (valid)
    walk(shape, strides, At{}, [&](int64_t i, const At &at) {
      bool defined = true;
      const int64_t x[] = {a.integer(at[0]), b.integer(at[1])};
      y.setInteger(i, op.onInts(x, defined));
      valid &= defined;
    });
  return valid ? one(std::move(y)) : HostResults(undefined(a));
}

/// x op other
Result<HostTensor> combined(HostCall &call, const Scalar &op,
                            const HostTensor &x, const HostTensor *other) {
  HostCall pair{call.node, {&x, other}, call.budget};
  DLC_ASSIGN(auto results, binary(pair, op, false));
  return std::move(results[0]);
}

/// Folds the operands pairwise.
HostResults extremum(HostCall &call, const Scalar &op, bool) {
  DLC_TRY(call.require(call.inputs.size()));
  HostTensor best = *call.input(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    DLC_ASSIGN(best, combined(call, op, best, call.input(i)));
  }
  return one(std::move(best));
}

/// An omitted bound is no limit.
HostResults clip(HostCall &call, const Scalar &low, const Scalar &high) {
  HostTensor x = *call.input(0);
  for (size_t i = 1; i < 3; ++i)
    if (call.input(i)) {
      DLC_ASSIGN(x, combined(call, i == 1 ? low : high, x, call.input(i)));
    }
  return one(std::move(x));
}

/// `op` ignores its second number.
HostResults unary(HostCall &call, const Scalar &op, bool predicate) {
  HostCall twice{call.node, {call.input(0), call.input(0)}, call.budget};
  return binary(twice, op, predicate);
}

} // namespace

HostResults castTo(HostCall &call, int onnxType) {
  auto dtype = toDType(onnxType);
  if (!dtype)
    return badModel("cast to {} is not supported", onnxTypeName(onnxType));
  const HostTensor &x = *call.input(0);
  DLC_ASSIGN(auto y, call.make(*dtype, x.shape));
  const SmallFloat *small = smallFloat(onnxType); // from f64 directly
  const bool saturate = call.node.integer("saturate", 1);
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    if (small)
      y.setNumber(i, roundTo(*small, x.number(i), saturate));
    else
      y.setFrom(i, x);
  return one(std::move(y));
}

namespace {

HostResults where(HostCall &call) {
  const HostTensor &c = *call.input(0), &a = *call.input(1),
                   &b = *call.input(2);
  if (c.dtype != DType::Bool || a.dtype != b.dtype)
    return badModel("expected a BOOL condition and two operands of one type");
  DLC_ASSIGN(auto both, broadcastShapes(a.shape, b.shape));
  DLC_ASSIGN(auto shape, broadcastShapes(c.shape, both));
  DLC_ASSIGN(auto y, call.make(a.dtype, shape));
  using At = std::array<int64_t, 3>;
  std::array<Shape, 3> strides{broadcastStrides(c.shape, shape),
                               broadcastStrides(a.shape, shape),
                               broadcastStrides(b.shape, shape)};
  walk(shape, strides, At{}, [&](int64_t i, const At &at) {
    if (c.integer(at[0]))
      y.copyElement(i, a, at[1]);
    else
      y.copyElement(i, b, at[2]);
  });
  return one(std::move(y));
}

/// Reduces `x` in f64 or i64; `kept` has size 1 for reduced axes.
Result<HostTensor> reduceValues(HostCall &call, const HostTensor &x,
                                const Shape &kept, const Fold &fold) {
  DType wide = x.holdsFloats() ? DType::F64 : DType::I64;
  DLC_ASSIGN(auto y, call.make(wide, kept));
  DLC_TRY(call.work(x.elements()));
  using At = std::array<int64_t, 1>;
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    if (x.holdsFloats())
      y.setNumber(i, fold.first);
    else
      y.setInteger(i, fold.firstInt);
  walk(x.shape, std::array{broadcastStrides(kept, x.shape)}, At{},
       [&, &y = y](int64_t i, const At &at) {
         if (x.holdsFloats())
           y.setNumber(at[0], fold.onFloats(y.number(at[0]), x.number(i)));
         else
           y.setInteger(at[0], fold.onInts(y.integer(at[0]), x.integer(i)));
       });
  return y;
}

/// The extremum of no elements is the limit of the type, not that of i64.
int64_t nearestOf(DType dtype, int64_t value) {
  switch (dtype) {
  case DType::Bool:
    return value > 0;
  case DType::U8:
    return std::clamp<int64_t>(value, 0, UINT8_MAX);
  case DType::I32:
    return std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
  default:
    return value;
  }
}

/// Axes are an attribute in old opsets, and an input from opset 13 (ReduceSum)
/// or 18.
HostResults reduce(HostCall &call, const Fold &fold, bool mean = false) {
  const HostTensor &x = *call.input(0);
  if (call.input(1)) {
    DLC_TRY(call.work(call.input(1)->elements()));
  }
  auto given =
      call.input(1) ? call.input(1)->integers() : call.node.integers("axes");
  if (given.empty() && call.node.integer("noop_with_empty_axes", 0))
    return one(x);
  DLC_ASSIGN(auto axes, normalizeAxes(given, x.shape.size()));
  Shape kept = x.shape;
  int64_t reduced = 1;
  for (int64_t axis : axes) {
    reduced *= x.shape[axis];
    kept[axis] = 1;
  }
  DLC_ASSIGN(auto values, reduceValues(call, x, kept, fold));
  if (mean && reduced == 0 && !x.holdsFloats())
    return badModel("the mean of no elements of type {} is not defined",
                    onnxTypeName(toOnnxType(x.dtype)));
  Shape shape = kept;
  if (!call.node.integer("keepdims", 1))
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
      shape.erase(shape.begin() + *axis);
  DLC_ASSIGN(auto y, call.make(x.dtype, shape));
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    if (x.holdsFloats())
      y.setNumber(i, mean ? values.number(i) / reduced : values.number(i));
    else if (mean)
      y.setInteger(i, values.integer(i) / reduced);
    else
      y.setInteger(i, reduced ? values.integer(i)
                              : nearestOf(x.dtype, values.integer(i)));
  return one(std::move(y));
}

HostResults cumSum(HostCall &call) {
  const HostTensor &x = *call.input(0), &given = *call.input(1);
  if (given.elements() != 1)
    return badModel("axis has {} elements, expected 1", given.elements());
  DLC_ASSIGN(auto axis, normalizeAxis(given.integer(0), x.shape.size()));
  const bool isBackward = call.node.integer("reverse", 0),
             isExclusive = call.node.integer("exclusive", 0);
  DLC_ASSIGN(auto y, call.make(x.dtype, x.shape));
  const int64_t size = x.shape[axis],
                inner = reference::stridesOf(x.shape)[axis];
  for (int64_t line = 0, lines = size ? x.elements() / size : 0; line < lines;
       ++line) {
    const int64_t start = line / inner * size * inner + line % inner;
    HostTensor sum(x.dtype, {});
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = start + (isBackward ? size - 1 - i : i) * inner;
      if (isExclusive)
        y.copyElement(at, sum, 0);
      if (x.holdsFloats())
        sum.setNumber(0, sum.number(0) + x.number(at));
      else
        sum.setInteger(
            0, int64_t(uint64_t(sum.integer(0)) + uint64_t(x.integer(at))));
      if (!isExclusive)
        y.copyElement(at, sum, 0);
    }
  }
  return one(std::move(y));
}

/// The result has the base's type; the exponent's may differ.
HostResults pow(HostCall &call) {
  HostCall cast{call.node, {call.input(1)}, call.budget};
  DLC_ASSIGN(const auto exponent,
             castTo(cast, toOnnxType(call.input(0)->dtype)));
  HostCall same{call.node, {call.input(0), &exponent[0]}, call.budget};
  return binary(same, *reference::scalarOf("pow"), false);
}

/// Adds elementwise operators with the semantics of dlc's ops, which are called
/// like ONNX's.
void addScalars(HostOps &ops, size_t inputs,
                std::initializer_list<const char *> names,
                HostResults (*run)(HostCall &, const Scalar &, bool)) {
  for (const char *name : names)
    ops[name] = {inputs, [run, &op = *reference::scalarOf(lowerCase(name))](
                             HostCall &c) { return run(c, op, false); }};
}

void addElementwise(HostOps &ops) {
  addScalars(ops, 1,
             {"Sqrt", "Exp", "Log", "Sin", "Cos", "Atan", "Reciprocal", "Floor",
              "Ceil", "Round", "Neg", "Abs", "Not"},
             unary);
  addScalars(ops, 2, {"Add", "Sub", "Mul", "Div", "And", "Or"}, binary);
  addScalars(ops, 1, {"Min", "Max"}, extremum);
  for (auto [name, dlc] :
       {std::pair("Equal", "eq"), std::pair("Less", "lt"),
        std::pair("LessOrEqual", "le"), std::pair("Greater", "gt"),
        std::pair("GreaterOrEqual", "ge")})
    ops[name] = {2, [&op = *reference::scalarOf(dlc)](HostCall &c) {
                   return binary(c, op, true);
                 }};
  ops["Clip"] = {1, [](HostCall &c) {
                   return clip(c, *reference::scalarOf("max"),
                               *reference::scalarOf("min"));
                 }};
  ops["Pow"] = {2, pow};
  ops["Mod"] = {2, [](HostCall &c) {
                  return binary(c, c.node.integer("fmod", 0) ? kFmod : kMod,
                                false);
                }};
  ops["Xor"] = {2, [](HostCall &c) { return binary(c, kXor, false); }};
  ops["IsNaN"] = {1, [](HostCall &c) { return unary(c, kIsNan, true); }};
}

//===--- MelWeightMatrix --------------------------------------------------===//

/// Triangle filters on the mel scale, [dft_length / 2 + 1, bins], each between
/// its own bin's edge and the second next one, with the peak at the next one.
HostResults melWeights(HostCall &call) {
  for (size_t i = 0; i < 5; ++i)
    if (call.input(i)->elements() != 1)
      return badModel("input {} has shape {}, expected one number", i,
                      toString(call.input(i)->shape));
  const int64_t bins = call.input(0)->integer(0);
  const int64_t length = call.input(1)->integer(0);
  const int64_t rate = call.input(2)->integer(0);
  const double low = call.input(3)->number(0), high = call.input(4)->number(0);
  const int64_t places = length / 2 + 1;
  const int onnxType =
      int(call.node.integer("output_datatype", onnx::TensorProto::FLOAT));
  auto dtype = toDType(onnxType);
  if (bins < 0 || length < 1 || rate < 1 || !dtype)
    return badModel("{} bins of a transform of length {} at {} samples a "
                    "second, as {}, are not supported",
                    bins, length, rate, onnxTypeName(onnxType));
  DLC_ASSIGN(auto y, call.make(*dtype, {places, bins}));
  DLC_TRY(call.work(bins));
  auto mel = [](double hertz) {
    return 2595 * std::log1p(hertz / 700) / std::log(10.0);
  };
  const double step = (mel(high) - mel(low)) / double(bins + 2);
  auto edge = [&](int64_t bin) {
    const double at = double(bin) * step + mel(low);
    const double hertz = 700 * std::expm1(at / 2595 * std::log(10.0));
    const double place = std::floor(double(length + 1) * hertz / double(rate));
    return int64_t(std::clamp(place, -1.0, double(places)));
  };
  for (int64_t bin = 0; bin < bins; ++bin) {
    const int64_t from = edge(bin), middle = edge(bin + 1), to = edge(bin + 2);
    if (from < 0 || middle >= places || to > places)
      return badModel("the edges {} to {} hertz lie outside of a transform of "
                      "length {} at {} samples a second",
                      low, high, length, rate);
    auto set = [&](int64_t place, int64_t part, int64_t whole) {
      y.setNumber(place * bins + bin, double(part) / double(whole));
    };
    if (middle == from)
      set(middle, 1, 1);
    for (int64_t j = from; j <= middle && middle > from; ++j)
      set(j, j - from, middle - from);
    for (int64_t j = middle; j < to; ++j)
      set(j, to - j, to - middle);
  }
  return one(std::move(y));
}

} // namespace

void addHostMath(HostOps &ops) {
  addElementwise(ops);
  ops["Where"] = {3, where};
  ops["Cast"] = {
      1, [](HostCall &c) { return castTo(c, c.node.integer("to", 0)); }};
  ops["CumSum"] = {2, cumSum};
  ops["MelWeightMatrix"] = {5, melWeights};
  ops["CastLike"] = {
      2, [](HostCall &c) { return castTo(c, toOnnxType(c.input(1)->dtype)); }};
  auto addReduce = [&](const char *op, const Fold &fold, bool mean = false) {
    ops[op] = {1, [=](HostCall &c) { return reduce(c, fold, mean); }};
  };
  addReduce("ReduceSum", reference::kSum);
  addReduce("ReduceMean", reference::kSum, true);
  addReduce("ReduceProd", reference::kProduct);
  addReduce("ReduceMax", reference::kMax);
  addReduce("ReduceMin", reference::kMin);
}

} // namespace dlc::import

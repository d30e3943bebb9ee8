#include "compiler/import/fold/HostEval.h"
#include "compiler/import/fold/HostWalk.h"
#include "compiler/import/tensor/DataType.h"
#include <algorithm>
#include <cmath>

namespace dlc::import {
namespace {

HostResults one(HostTensor tensor) {
  std::vector<HostTensor> results;
  results.push_back(std::move(tensor));
  return results;
}

// Elementwise ops are given for doubles and for integers; null where ONNX has
// none. Integer arithmetic wraps, as in two's complement.
using FloatOp = double (*)(double, double);
using IntOp = int64_t (*)(int64_t, int64_t, bool &valid);

HostResults binary(HostCall &call, FloatOp onFloats, IntOp onInts,
                   bool predicate) {
  DLC_TRY(call.require(2));
  const HostTensor &a = *call.input(0), &b = *call.input(1);
  if (a.dtype != b.dtype)
    return badModel("operands have types {} and {}, expected one type",
                    onnxTypeName(toOnnxType(a.dtype)),
                    onnxTypeName(toOnnxType(b.dtype)));
  DLC_ASSIGN(auto shape, broadcastShapes(a.shape, b.shape));
  DLC_ASSIGN(auto y, call.make(predicate ? DType::Bool : a.dtype, shape));
  bool valid = a.holdsFloats() ? onFloats != nullptr : onInts != nullptr;
  using At = std::array<int64_t, 2>;
  std::array<Shape, 2> strides{broadcastStrides(a.shape, shape),
                               broadcastStrides(b.shape, shape)};
  if (valid && a.holdsFloats())
    walk(shape, strides, At{}, [&](int64_t i, const At &at) {
      y.setNumber(i, onFloats(a.number(at[0]), b.number(at[1])));
    });
  else if (valid)
    walk(shape, strides, At{}, [&](int64_t i, const At &at) {
      bool defined = true;
      y.setInteger(i, onInts(a.integer(at[0]), b.integer(at[1]), defined));
      valid &= defined;
    });
  if (!valid)
    return badModel("the operation is not defined for these values of type {}",
                    onnxTypeName(toOnnxType(a.dtype)));
  return one(std::move(y));
}

template <typename Op> int64_t wrapping(int64_t a, int64_t b, Op op) {
  return static_cast<int64_t>(op(uint64_t(a), uint64_t(b)));
}

int64_t divide(int64_t a, int64_t b, bool &valid) {
  valid = b != 0 && !(a == INT64_MIN && b == -1);
  return valid ? a / b : 0;
}

int64_t power(int64_t base, int64_t exponent, bool &valid) {
  valid = exponent >= 0;
  uint64_t result = 1, factor = base;
  for (int64_t e = exponent; valid && e > 0; e >>= 1, factor *= factor)
    if (e & 1)
      result *= factor;
  return int64_t(result);
}

/// Mod has two meanings: the divisor's sign, or with fmod the dividend's.
HostResults mod(HostCall &call) {
  if (call.node.integer("fmod", 0))
    return binary(
        call, [](double a, double b) { return std::fmod(a, b); },
        [](int64_t a, int64_t b, bool &valid) {
          valid = b != 0;
          return b == 0 || b == -1 ? 0 : a % b;
        },
        false);
  return binary(
      call, nullptr,
      [](int64_t a, int64_t b, bool &valid) {
        valid = b != 0;
        int64_t rest = b == 0 || b == -1 ? 0 : a % b;
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      false);
}

template <bool larger> HostResults extremum(HostCall &call) {
  DLC_TRY(call.require(std::max<size_t>(call.inputs.size(), 1)));
  HostTensor best = *call.input(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    HostCall pair{call.node, {&best, call.input(i)}, call.budget};
    auto next = binary(
        pair,
        [](double a, double b) {
          if (std::isnan(a) || std::isnan(b))
            return std::nan("");
          return larger ? std::max(a, b) : std::min(a, b);
        },
        [](int64_t a, int64_t b, bool &) {
          return larger ? std::max(a, b) : std::min(a, b);
        },
        false);
    if (!next.ok())
      return next.status();
    best = std::move((*next)[0]);
  }
  return one(std::move(best));
}

HostResults unary(HostCall &call, double (*onFloats)(double),
                  int64_t (*onInts)(int64_t), bool predicate = false) {
  DLC_TRY(call.require(1));
  const HostTensor &x = *call.input(0);
  if (x.holdsFloats() ? !onFloats : !onInts)
    return badModel("the operation is not defined for type {}",
                    onnxTypeName(toOnnxType(x.dtype)));
  DLC_ASSIGN(auto y, call.make(predicate ? DType::Bool : x.dtype, x.shape));
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    if (x.holdsFloats())
      y.setNumber(i, onFloats(x.number(i)));
    else
      y.setInteger(i, onInts(x.integer(i)));
  return one(std::move(y));
}

} // namespace

HostResults castTo(HostCall &call, int onnxType) {
  auto dtype = toDType(onnxType);
  if (!dtype)
    return badModel("cast to {} is not supported", onnxTypeName(onnxType));
  const HostTensor &x = *call.input(0);
  DLC_ASSIGN(auto y, call.make(*dtype, x.shape));
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    y.setFrom(i, x);
  return one(std::move(y));
}

namespace {

HostResults where(HostCall &call) {
  DLC_TRY(call.require(3));
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

/// What a reduction starts from and how it goes on, for both kinds of element.
struct Reduction {
  double first;
  double (*onFloats)(double, double);
  int64_t firstInt;
  int64_t (*onInts)(int64_t, int64_t);
  bool mean = false;
};

/// The reduced values of `x`, in f64 or i64; `kept` has 1 for reduced axes.
Result<HostTensor> reduceValues(HostCall &call, const HostTensor &x,
                                const Shape &kept, const Reduction &r) {
  DType wide = x.holdsFloats() ? DType::F64 : DType::I64;
  DLC_ASSIGN(auto y, call.make(wide, kept));
  DLC_TRY(call.work(x.elements()));
  using At = std::array<int64_t, 1>;
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    if (x.holdsFloats())
      y.setNumber(i, r.first);
    else
      y.setInteger(i, r.firstInt);
  walk(x.shape, std::array{broadcastStrides(kept, x.shape)}, At{},
       [&, &y = y](int64_t i, const At &at) {
         if (x.holdsFloats())
           y.setNumber(at[0], r.onFloats(y.number(at[0]), x.number(i)));
         else
           y.setInteger(at[0], r.onInts(y.integer(at[0]), x.integer(i)));
       });
  return y;
}

/// Axes are an attribute at first and an input from opset 13 (ReduceSum) or 18.
HostResults reduce(HostCall &call, const Reduction &r) {
  DLC_TRY(call.require(1));
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
  DLC_ASSIGN(auto values, reduceValues(call, x, kept, r));
  if (r.mean && reduced == 0 && !x.holdsFloats())
    return badModel("the mean of no elements of type {} is not defined",
                    onnxTypeName(toOnnxType(x.dtype)));
  Shape shape = kept;
  if (!call.node.integer("keepdims", 1))
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
      shape.erase(shape.begin() + *axis);
  DLC_ASSIGN(auto y, call.make(x.dtype, shape));
  for (int64_t i = 0, count = y.elements(); i < count; ++i)
    if (x.holdsFloats())
      y.setNumber(i, r.mean ? values.number(i) / reduced : values.number(i));
    else
      y.setInteger(i, r.mean ? values.integer(i) / reduced : values.integer(i));
  return one(std::move(y));
}

double add(double a, double b) { return a + b; }
int64_t addInts(int64_t a, int64_t b) {
  return wrapping(a, b, std::plus<uint64_t>());
}
int64_t multiplyInts(int64_t a, int64_t b) {
  return wrapping(a, b, std::multiplies<uint64_t>());
}

/// The exponent's type may differ from the base's, which is the result's.
HostResults pow(HostCall &call) {
  DLC_TRY(call.require(2));
  HostCall cast{call.node, {call.input(1)}, call.budget};
  auto exponent = castTo(cast, toOnnxType(call.input(0)->dtype));
  if (!exponent.ok())
    return exponent;
  HostCall same{call.node, {call.input(0), &(*exponent)[0]}, call.budget};
  return binary(
      same, [](double a, double b) { return std::pow(a, b); }, power, false);
}

void addUnary(HostOps &ops) {
  ops["Sqrt"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::sqrt(x); }, nullptr);
  };
  ops["Exp"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::exp(x); }, nullptr);
  };
  ops["Log"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::log(x); }, nullptr);
  };
  ops["Sin"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::sin(x); }, nullptr);
  };
  ops["Cos"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::cos(x); }, nullptr);
  };
  ops["Reciprocal"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return 1 / x; }, nullptr);
  };
  ops["Floor"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::floor(x); }, nullptr);
  };
  ops["Ceil"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::ceil(x); }, nullptr);
  };
  ops["Round"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::nearbyint(x); }, nullptr);
  };
  ops["Neg"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return -x; },
        [](int64_t x) { return int64_t(-uint64_t(x)); });
  };
  ops["Abs"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return std::fabs(x); },
        [](int64_t x) { return x < 0 ? int64_t(-uint64_t(x)) : x; });
  };
  ops["Not"] = [](HostCall &c) {
    return unary(c, nullptr, [](int64_t x) { return int64_t(!x); });
  };
  ops["IsNaN"] = [](HostCall &c) {
    return unary(
        c, [](double x) { return double(std::isnan(x)); }, nullptr, true);
  };
}

void addBinary(HostOps &ops) {
  ops["Add"] = [](HostCall &c) {
    return binary(
        c, [](double a, double b) { return a + b; },
        [](int64_t a, int64_t b, bool &) {
          return wrapping(a, b, std::plus<uint64_t>());
        },
        false);
  };
  ops["Sub"] = [](HostCall &c) {
    return binary(
        c, [](double a, double b) { return a - b; },
        [](int64_t a, int64_t b, bool &) {
          return wrapping(a, b, std::minus<uint64_t>());
        },
        false);
  };
  ops["Mul"] = [](HostCall &c) {
    return binary(
        c, [](double a, double b) { return a * b; },
        [](int64_t a, int64_t b, bool &) {
          return wrapping(a, b, std::multiplies<uint64_t>());
        },
        false);
  };
  ops["Div"] = [](HostCall &c) {
    return binary(
        c, [](double a, double b) { return a / b; }, divide, false);
  };
  ops["Pow"] = pow;
  ops["Mod"] = mod;
  ops["Min"] = extremum<false>;
  ops["Max"] = extremum<true>;
  ops["And"] = [](HostCall &c) {
    return binary(
        c, nullptr, [](int64_t a, int64_t b, bool &) { return a & b; }, false);
  };
  ops["Or"] = [](HostCall &c) {
    return binary(
        c, nullptr, [](int64_t a, int64_t b, bool &) { return a | b; }, false);
  };
  ops["Xor"] = [](HostCall &c) {
    return binary(
        c, nullptr, [](int64_t a, int64_t b, bool &) { return a ^ b; }, false);
  };
}

template <typename Compare> HostResults compare(HostCall &call) {
  return binary(
      call, [](double a, double b) { return double(Compare()(a, b)); },
      [](int64_t a, int64_t b, bool &) { return int64_t(Compare()(a, b)); },
      true);
}

} // namespace

void addHostMath(HostOps &ops) {
  addUnary(ops);
  addBinary(ops);
  ops["Equal"] = compare<std::equal_to<>>;
  ops["Less"] = compare<std::less<>>;
  ops["LessOrEqual"] = compare<std::less_equal<>>;
  ops["Greater"] = compare<std::greater<>>;
  ops["GreaterOrEqual"] = compare<std::greater_equal<>>;
  ops["Where"] = where;
  ops["Cast"] = [](HostCall &c) -> HostResults {
    DLC_TRY(c.require(1));
    return castTo(c, c.node.integer("to", 0));
  };
  ops["CastLike"] = [](HostCall &c) -> HostResults {
    DLC_TRY(c.require(2));
    return castTo(c, toOnnxType(c.input(1)->dtype));
  };
  ops["ReduceSum"] = [](HostCall &c) {
    return reduce(c, {0, add, 0, addInts});
  };
  ops["ReduceMean"] = [](HostCall &c) {
    return reduce(c, {0, add, 0, addInts, true});
  };
  ops["ReduceProd"] = [](HostCall &c) {
    return reduce(
        c, {1, [](double a, double b) { return a * b; }, 1, multiplyInts});
  };
  ops["ReduceMax"] = [](HostCall &c) {
    return reduce(
        c, {-INFINITY, [](double a, double b) { return std::max(a, b); },
            INT64_MIN, [](int64_t a, int64_t b) { return std::max(a, b); }});
  };
  ops["ReduceMin"] = [](HostCall &c) {
    return reduce(
        c, {INFINITY, [](double a, double b) { return std::min(a, b); },
            INT64_MAX, [](int64_t a, int64_t b) { return std::min(a, b); }});
  };
}

} // namespace dlc::import

#include "compiler/import/Narrow.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <cmath>
#include <limits>
#include <set>

using namespace mlir;

namespace dlc::import {
namespace {

using onnx::TensorProto;

struct Integer {
  int type, bits;
  bool isSigned;
};
constexpr Integer kIntegers[] = {
    {TensorProto::INT8, 8, true},     {TensorProto::INT16, 16, true},
    {TensorProto::UINT16, 16, false}, {TensorProto::UINT32, 32, false},
    {TensorProto::INT4, 4, true},     {TensorProto::UINT4, 4, false},
    {TensorProto::INT2, 2, true},     {TensorProto::UINT2, 2, false}};

/// A float of few bits: digits behind the binary point, the exponents of its
/// normal numbers, the greatest number, and what is too much.
struct Small {
  int type, digits, lowest, highest;
  double most, tooMuch;
  bool hasNegativeZero;
  double ofNan;
};
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr Small kSmall[] = {
    {TensorProto::FLOAT8E4M3FN, 3, -6, 8, 448, kNoNumber, true, kNoNumber},
    {TensorProto::FLOAT8E4M3FNUZ, 3, -7, 7, 240, kNoNumber, false, kNoNumber},
    {TensorProto::FLOAT8E5M2, 2, -14, 15, 57344, kInfinite, true, kNoNumber},
    {TensorProto::FLOAT8E5M2FNUZ, 2, -15, 15, 57344, kNoNumber, false,
     kNoNumber},
    {TensorProto::FLOAT4E2M1, 1, 0, 2, 6, 6, true, 0}};

template <typename Row, size_t N>
const Row *find(const Row (&rows)[N], int type) {
  for (const Row &row : rows)
    if (row.type == type)
      return &row;
  return nullptr;
}

int64_t wrapped(const Integer &to, int64_t x) {
  const int64_t range = int64_t(1) << to.bits;
  const int64_t low = x & (range - 1);
  return to.isSigned && low >= range / 2 ? low - range : low;
}

/// (x + half) mod range - half
Value wrapped(const Node &n, const Integer &to, Value x) {
  const double range = std::ldexp(1.0, to.bits);
  const double half = to.isSigned ? range / 2 : 0;
  Value moved = half ? n.make<ir::AddOp>(x, n.constant(half, x)) : x;
  Value low = n.make<ir::AndOp>(moved, n.constant(range - 1, x));
  return half ? n.make<ir::SubOp>(low, n.constant(half, x)) : low;
}

double rounded(const Small &to, double x, bool saturate) {
  if (std::isnan(x))
    return to.ofNan;
  const double size = std::fabs(x);
  const int exponent = size > 0 ? std::max(std::ilogb(size), to.lowest) : 0;
  const double step = std::ldexp(1.0, exponent - to.digits);
  double y = std::isinf(size) ? size : std::nearbyint(size / step) * step;
  if (y > to.most)
    y = saturate ? to.most : to.tooMuch;
  if (y == 0 && !to.hasNegativeZero)
    return 0;
  return std::copysign(y, x);
}

/// The same: the step is chosen by comparisons, so that it is exact.
Value rounded(const Node &n, const Small &to, Value x, bool saturate) {
  Value size = n.make<ir::AbsOp>(x);
  auto at = [&](double v) { return n.constant(v, x); };
  auto isAtLeast = [&](double v) {
    return n.make<ir::CompareOp>(ir::Predicate::ge, size, at(v));
  };
  Value step = at(std::ldexp(1.0, to.lowest - to.digits));
  for (int e = to.lowest + 1; e <= to.highest + 1; ++e)
    step = n.make<ir::SelectOp>(isAtLeast(std::ldexp(1.0, e)),
                                at(std::ldexp(1.0, e - to.digits)), step);
  Value y = n.make<ir::MulOp>(
      n.make<ir::RoundOp>(n.make<ir::DivOp>(size, step)), step);
  Value isTooMuch = n.make<ir::CompareOp>(ir::Predicate::gt, y, at(to.most));
  y = n.make<ir::SelectOp>(isTooMuch, at(saturate ? to.most : to.tooMuch), y);
  Value isBelow = n.make<ir::CompareOp>(ir::Predicate::lt, x, at(0));
  y = n.make<ir::SelectOp>(isBelow, n.make<ir::NegOp>(y), y);
  Value isNumber = n.make<ir::CompareOp>(ir::Predicate::eq, x, x);
  return n.make<ir::SelectOp>(isNumber, y, at(to.ofNan));
}

/// By the attributes that name one, or the operator's schema; 0 where neither
/// says it.
int resultType(const Node &node, const TypeCheck &types, int i) {
  for (const char *name : {"to", "dtype", "output_dtype", "output_datatype"})
    if (const auto *attribute = node.find(name); attribute && attribute->i())
      return int(attribute->i());
  const bool isConstant = node.proto.op_type() == "Constant" ||
                          node.proto.op_type() == "ConstantOfShape";
  if (const auto *value = node.find("value"); isConstant && value)
    return value->t().data_type();
  return types.outputType(i);
}

/// Moves and choices of elements cannot.
bool leavesRange(const std::string &op) {
  static const std::set<std::string> ops = {"Abs",
                                            "Add",
                                            "BitShift",
                                            "BitwiseNot",
                                            "Cast",
                                            "CastLike",
                                            "CumSum",
                                            "CumProd",
                                            "Div",
                                            "Mean",
                                            "Mul",
                                            "Neg",
                                            "Pow",
                                            "ReduceL1",
                                            "ReduceProd",
                                            "ReduceSum",
                                            "ReduceSumSquare",
                                            "Range",
                                            "Sub",
                                            "Sum"};
  return ops.count(op);
}

/// Integers wrap; floats round to nearest, ties to even, and are `saturated` or
/// become what the type has for too much.
Value narrowed(const Node &n, Value x, int onnxType, bool saturate) {
  if (const Integer *to = find(kIntegers, onnxType))
    return wrapped(n, *to, x);
  if (const Small *to = find(kSmall, onnxType))
    return rounded(n, *to, x, saturate);
  return x;
}

Result<HostTensor> narrowed(Budget &budget, const HostTensor &x, int onnxType,
                            bool saturate) {
  const Integer *integer = find(kIntegers, onnxType);
  const Small *small = find(kSmall, onnxType);
  if (!integer && !small)
    return x;
  DLC_ASSIGN(Lease lease,
             budget.take(HostTensor::bytesOf(x.elements()), "folding a value"));
  HostTensor y(x.dtype, x.shape, std::move(lease));
  for (int64_t i = 0, count = x.elements(); i < count; ++i)
    if (integer)
      y.setInteger(i, wrapped(*integer, x.integer(i)));
    else
      y.setNumber(i, rounded(*small, x.number(i), saturate));
  return y;
}

LogicalResult narrowResult(const Node &n, const std::string &name, int type) {
  const bool saturate = n.integer("saturate", 1);
  if (const HostTensor *host = n.table.host(name)) {
    auto y = narrowed(n.table.budget(), *host, type, saturate);
    if (!y.ok())
      return n.fail(y.status());
    n.table.define(name, std::move(*y));
    return success();
  }
  Value y = narrowed(n, n.table.value(name, n.loc), type, saturate);
  if (!y)
    return failure();
  n.table.define(name, y);
  return success();
}

} // namespace

NarrowTypes narrowTypes(const onnx::GraphProto &graph) {
  NarrowTypes narrow;
  for (const auto &input : graph.input())
    if (int type = input.type().tensor_type().elem_type(); isNarrow(type))
      narrow[input.name()] = type;
  for (const auto &tensor : graph.initializer())
    if (isNarrow(tensor.data_type()))
      narrow[tensor.name()] = tensor.data_type();
  return narrow;
}

LogicalResult narrowResults(const Node &n, const TypeCheck &types,
                            NarrowTypes &narrow) {
  for (int i = 0; i < n.proto.output_size(); ++i) {
    const std::string &name = n.proto.output(i);
    const int type = resultType(n, types, i);
    if (name.empty() || !n.table.isUsed(name) || !isNarrow(type))
      continue;
    narrow[name] = type;
    if (leavesRange(n.proto.op_type()) && !n.table.sequence(name) &&
        failed(narrowResult(n, name, type)))
      return failure();
  }
  return success();
}

} // namespace dlc::import

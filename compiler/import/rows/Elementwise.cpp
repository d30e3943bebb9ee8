// SPDX-License-Identifier: Apache-2.0
// Elementwise ops; operands are broadcast like numpy's.
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// An op with the operands and the name of ONNX's operator.
template <typename Op> LogicalResult same(const Node &n) {
  Value a = n.in(0);
  if constexpr (Op::template hasTrait<OpTrait::OneOperand>())
    return n.result(n.make<Op>(a));
  else
    return n.result(n.make<Op>(a, n.in(1)));
}
template <typename... Ops> void addSame(Rows &rows) {
  ((rows[operatorLike(Ops::getOperationName())] = same<Ops>), ...);
}

/// Sum, Max, Min: any number of operands.
template <typename Op> Value chain(const Node &n) {
  Value result = n.in(0);
  for (size_t i = 1; result && i < n.inputs(); ++i)
    result = n.make<Op>(result, n.in(i));
  return result;
}
template <typename Op> LogicalResult variadic(const Node &n) {
  return n.result(chain<Op>(n));
}

LogicalResult mean(const Node &n) {
  Value sum = chain<ir::AddOp>(n);
  return n.result(n.make<ir::DivOp>(sum, n.constant(n.inputs(), sum)));
}

template <ir::Predicate predicate> LogicalResult compare(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  return n.result(n.make<ir::CompareOp>(predicate, a, b));
}

/// Casts to a type that a wider one stores are followed by narrowing; from f64
/// directly, since two roundings differ from one.
LogicalResult castTo(const Node &n, int to) {
  auto dtype = toDType(to);
  if (!dtype)
    return n.fail("cast to {} is not supported", onnxTypeName(to));
  Value x = n.in(0);
  if (x && ir::elementType(x).isF64() && smallFloat(to))
    x = narrowed(n, x, to, n.integer("saturate", 1));
  return n.result(n.cast(x, toMlir(*dtype, n.b.getContext())));
}

LogicalResult castTo(const Node &n) { return castTo(n, n.integer("to", 0)); }

/// Only the type of input 1 is used, so a known input 0 remains known.
LogicalResult castLike(const Node &n) {
  if (!n.type(1))
    return n.fail("input 1 is missing");
  if (const HostTensor *x = n.host(0)) {
    HostCall call{n, {x}, n.table.budget()};
    auto y = import::castTo(call, n.onnxType(1));
    return y.ok() ? n.result(0, std::move((*y)[0])) : n.fail(y.status());
  }
  return castTo(n, n.onnxType(1));
}

LogicalResult where(const Node &n) {
  Value condition = n.in(0), a = n.in(1), b = n.in(2);
  return n.result(n.make<ir::SelectOp>(condition, a, b));
}

LogicalResult gelu(const Node &n) {
  DLC_GET(const auto form, n.choice("approximate", "none", {"none", "tanh"}));
  return n.result(n.make<ir::GeluOp>(n.in(0), form == "tanh"));
}

LogicalResult clip(const Node &n) {
  Value x = n.in(0);
  if (n.has(1))
    x = n.make<ir::MaxOp>(x, n.in(1));
  if (n.has(2))
    x = n.make<ir::MinOp>(x, n.in(2));
  return n.result(x);
}

Expr clippedLine(Expr x, double alpha, double beta) {
  Expr line = x * alpha + beta;
  return minimum(maximum(line, 0), 1);
}

Expr hardSigmoid(const Node &n, Expr x) {
  return clippedLine(x, n.number("alpha", 0.2), n.number("beta", 0.5));
}

Expr hardSwish(const Node &, Expr x) {
  return x * clippedLine(x, 1.0 / 6, 0.5);
}

/// x * sigmoid(alpha x)
Expr swish(const Node &n, Expr x) {
  const double alpha = n.number("alpha", 1);
  return x * sigmoid(alpha == 1 ? x : x * alpha);
}

/// x * tanh(softplus(x))
Expr mish(const Node &, Expr x) {
  return x * tanh(x.make<ir::SoftplusOp>(x.v));
}

/// x if positive, else `negative`.
Expr piecewise(Expr x, Expr negative) { return select(x > 0, x, negative); }

Expr leakyRelu(const Node &n, Expr x) {
  return piecewise(x, x * n.number("alpha", 0.01));
}

LogicalResult pRelu(const Node &n, Expr x) {
  DLC_GET(Value negative, n.make<ir::MulOp>(x.v, n.in(1)));
  return n.result(n.make<ir::SelectOp>((x > 0).v, x.v, negative));
}

/// alpha * (exp(min(x, 0) / scale) - 1): the minimum avoids overflow for
/// positive x, whose gradient in this branch must be 0 and not NaN; that of 0
/// must be whole.
Expr eluBranch(Expr x, double alpha, double scale = 1) {
  Expr low = select(x > 0, 0, x);
  return (exp(scale == 1 ? low : low / scale) - 1) * alpha;
}

Expr elu(const Node &n, Expr x) {
  return piecewise(x, eluBranch(x, n.number("alpha", 1)));
}

Expr selu(const Node &n, Expr x) {
  const double alpha = n.number("alpha", 1.67326319217681884765625);
  const double gamma = n.number("gamma", 1.05070102214813232421875);
  return piecewise(x, eluBranch(x, alpha)) * gamma;
}

Expr softsign(const Node &, Expr x) { return x / (abs(x) + 1); }

LogicalResult isNaN(const Node &n) {
  Value x = n.in(0);
  return n.result(n.make<ir::CompareOp>(ir::Predicate::ne, x, x));
}

/// max(x, 0) + min(alpha (exp(x / alpha) - 1), 0), without overflow of exp.
LogicalResult celu(const Node &n, Expr x) {
  const double alpha = n.number("alpha", 1);
  if (alpha == 0)
    return n.fail("alpha is 0");
  return n.result(x.make<ir::ReluOp>(x.v) + eluBranch(x, alpha, alpha));
}

/// Also for sequences, which subgraphs may pass through an Identity.
LogicalResult identity(const Node &n) {
  const auto *parts = n.has(0) ? n.table.sequence(n.inputName(0)) : nullptr;
  return parts ? giveSequence(n, *parts) : n.result(n.in(0));
}

/// Only floats need a StopGradient.
LogicalResult stopGradient(const Node &n) {
  Value x = n.in(0);
  if (!x || !mlir::isa<mlir::FloatType>(ir::elementType(x)))
    return n.result(x);
  return n.result(n.make<ir::StopGradientOp>(x));
}

} // namespace

void addElementwiseRows(Rows &rows) {
  addSame<ir::NegOp, ir::AbsOp, ir::SignOp, ir::FloorOp, ir::CeilOp,
          ir::RoundOp, ir::ExpOp, ir::LogOp, ir::SqrtOp, ir::ReciprocalOp,
          ir::TanhOp, ir::SigmoidOp, ir::ReluOp, ir::ErfOp, ir::SinOp,
          ir::CosOp, ir::AtanOp, ir::SoftplusOp, ir::NotOp, ir::AddOp,
          ir::SubOp, ir::MulOp, ir::DivOp, ir::AndOp, ir::OrOp>(rows);
  rows["Identity"] = identity;
  rows["ai.dlc.StopGradient"] = stopGradient;
  rows["Max"] = variadic<ir::MaxOp>;
  rows["Min"] = variadic<ir::MinOp>;
  rows["Sum"] = variadic<ir::AddOp>;
  rows["Mean"] = mean;
  rows["Equal"] = compare<ir::Predicate::eq>;
  rows["Less"] = compare<ir::Predicate::lt>;
  rows["LessOrEqual"] = compare<ir::Predicate::le>;
  rows["Greater"] = compare<ir::Predicate::gt>;
  rows["GreaterOrEqual"] = compare<ir::Predicate::ge>;
  rows["IsNaN"] = isNaN;
  rows["Where"] = where;
  rows["Cast"] = static_cast<Row>(castTo);
  rows["CastLike"] = castLike;
  rows["Gelu"] = gelu;
  rows["Clip"] = clip;
  rows["HardSigmoid"] = ofInputs<hardSigmoid>;
  rows["HardSwish"] = ofInputs<hardSwish>;
  rows["Swish"] = ofInputs<swish>;
  rows["Mish"] = ofInputs<mish>;
  rows["LeakyRelu"] = ofInputs<leakyRelu>;
  rows["PRelu"] = ofInputs<pRelu>;
  rows["Elu"] = ofInputs<elu>;
  rows["Selu"] = ofInputs<selu>;
  rows["Celu"] = ofInputs<celu>;
  rows["Softsign"] = ofInputs<softsign>;
}

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Elementwise ops; operands are broadcast like numpy's.
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/SmallNumbers.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

template <typename Op> LogicalResult unary(const Node &n) {
  return n.result(n.make<Op>(n.in(0)));
}

template <typename Op> LogicalResult binary(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  return n.result(n.make<Op>(a, b));
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
    return n.fail() << "cast to " << onnxTypeName(to) << " is not supported";
  Value x = n.in(0);
  if (x && ir::elementType(x).isF64() && smallFloat(to))
    x = narrowed(n, x, to, n.integer("saturate", 1));
  return n.result(n.cast(x, toMlir(*dtype, n.b.getContext())));
}

LogicalResult castTo(const Node &n) { return castTo(n, n.integer("to", 0)); }

/// Only the type of input 1 is used, so a known input 0 remains known.
LogicalResult castLike(const Node &n) {
  if (!n.type(1))
    return n.fail() << "input 1 is missing";
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
  std::string form = n.text("approximate", "none");
  if (form != "none" && form != "tanh")
    return n.fail() << "approximate is '" << form << "', expected none or tanh";
  return n.result(n.make<ir::GeluOp>(n.in(0), form == "tanh"));
}

Value clamp(const Node &n, Value x, double low, double high) {
  x = n.make<ir::MaxOp>(x, n.constant(low, x));
  return n.make<ir::MinOp>(x, n.constant(high, x));
}

LogicalResult clip(const Node &n) {
  Value x = n.in(0);
  if (n.has(1))
    x = n.make<ir::MaxOp>(x, n.in(1));
  if (n.has(2))
    x = n.make<ir::MinOp>(x, n.in(2));
  return n.result(x);
}

Value hardSigmoid(const Node &n, Value x, double alpha, double beta) {
  Value line = n.make<ir::AddOp>(n.make<ir::MulOp>(x, n.constant(alpha, x)),
                                 n.constant(beta, x));
  return clamp(n, line, 0, 1);
}

LogicalResult hardSigmoid(const Node &n) {
  return n.result(
      hardSigmoid(n, n.in(0), n.number("alpha", 0.2), n.number("beta", 0.5)));
}

LogicalResult hardSwish(const Node &n) {
  Value x = n.in(0);
  return n.result(n.make<ir::MulOp>(x, hardSigmoid(n, x, 1.0 / 6, 0.5)));
}

/// x * sigmoid(alpha x)
LogicalResult swish(const Node &n) {
  Value x = n.in(0);
  double alpha = n.number("alpha", 1);
  Value scaled = alpha == 1 ? x : n.make<ir::MulOp>(x, n.constant(alpha, x));
  return n.result(n.make<ir::MulOp>(x, n.make<ir::SigmoidOp>(scaled)));
}

/// x * tanh(softplus(x))
LogicalResult mish(const Node &n) {
  Value x = n.in(0);
  return n.result(
      n.make<ir::MulOp>(x, n.make<ir::TanhOp>(n.make<ir::SoftplusOp>(x))));
}

/// x if positive, else `negative`.
Value piecewise(const Node &n, Value x, Value negative) {
  Value positive =
      n.make<ir::CompareOp>(ir::Predicate::gt, x, n.constant(0, x));
  return n.make<ir::SelectOp>(positive, x, negative);
}

LogicalResult leakyRelu(const Node &n) {
  Value x = n.in(0);
  Value slope = n.constant(n.number("alpha", 0.01), x);
  return n.result(piecewise(n, x, n.make<ir::MulOp>(x, slope)));
}

LogicalResult pRelu(const Node &n) {
  Value x = n.in(0);
  return n.result(piecewise(n, x, n.make<ir::MulOp>(x, n.in(1))));
}

/// alpha * (exp(min(x, 0)) - 1): the minimum avoids overflow for positive x,
/// whose gradient in this branch must be 0 and not NaN.
Value eluBranch(const Node &n, Value x, double alpha) {
  Value low = n.make<ir::MinOp>(x, n.constant(0, x));
  Value grown = n.make<ir::SubOp>(n.make<ir::ExpOp>(low), n.constant(1, x));
  return n.make<ir::MulOp>(grown, n.constant(alpha, x));
}

LogicalResult elu(const Node &n) {
  Value x = n.in(0);
  return n.result(piecewise(n, x, eluBranch(n, x, n.number("alpha", 1))));
}

LogicalResult selu(const Node &n) {
  Value x = n.in(0);
  double alpha = n.number("alpha", 1.67326319217681884765625);
  double gamma = n.number("gamma", 1.05070102214813232421875);
  Value y = piecewise(n, x, eluBranch(n, x, alpha));
  return n.result(n.make<ir::MulOp>(y, n.constant(gamma, y)));
}

LogicalResult softsign(const Node &n) {
  Value x = n.in(0);
  Value below = n.make<ir::AddOp>(n.make<ir::AbsOp>(x), n.constant(1, x));
  return n.result(n.make<ir::DivOp>(x, below));
}

LogicalResult isNaN(const Node &n) {
  Value x = n.in(0);
  return n.result(n.make<ir::CompareOp>(ir::Predicate::ne, x, x));
}

/// max(x, 0) + min(alpha (exp(x / alpha) - 1), 0), without overflow of exp.
LogicalResult celu(const Node &n) {
  Value x = n.in(0);
  double alpha = n.number("alpha", 1);
  if (!x)
    return failure();
  if (alpha == 0)
    return n.fail() << "alpha is 0";
  Value low = n.make<ir::MinOp>(x, n.constant(0, x));
  Value scaled =
      n.make<ir::ExpOp>(n.make<ir::DivOp>(low, n.constant(alpha, x)));
  Value curve = n.make<ir::MulOp>(n.make<ir::SubOp>(scaled, n.constant(1, x)),
                                  n.constant(alpha, x));
  return n.result(n.make<ir::AddOp>(n.make<ir::ReluOp>(x), curve));
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
  rows["Neg"] = unary<ir::NegOp>;
  rows["Abs"] = unary<ir::AbsOp>;
  rows["Sign"] = unary<ir::SignOp>;
  rows["Floor"] = unary<ir::FloorOp>;
  rows["Ceil"] = unary<ir::CeilOp>;
  rows["Round"] = unary<ir::RoundOp>;
  rows["Exp"] = unary<ir::ExpOp>;
  rows["Log"] = unary<ir::LogOp>;
  rows["Sqrt"] = unary<ir::SqrtOp>;
  rows["Reciprocal"] = unary<ir::ReciprocalOp>;
  rows["Tanh"] = unary<ir::TanhOp>;
  rows["Sigmoid"] = unary<ir::SigmoidOp>;
  rows["Relu"] = unary<ir::ReluOp>;
  rows["Erf"] = unary<ir::ErfOp>;
  rows["Sin"] = unary<ir::SinOp>;
  rows["Cos"] = unary<ir::CosOp>;
  rows["Atan"] = unary<ir::AtanOp>;
  rows["Softplus"] = unary<ir::SoftplusOp>;
  rows["Not"] = unary<ir::NotOp>;
  rows["Identity"] = identity;
  rows["ai.dlc.StopGradient"] = stopGradient;
  rows["Add"] = binary<ir::AddOp>;
  rows["Sub"] = binary<ir::SubOp>;
  rows["Mul"] = binary<ir::MulOp>;
  rows["Div"] = binary<ir::DivOp>;
  rows["And"] = binary<ir::AndOp>;
  rows["Or"] = binary<ir::OrOp>;
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
  rows["HardSigmoid"] = hardSigmoid;
  rows["HardSwish"] = hardSwish;
  rows["Swish"] = swish;
  rows["Mish"] = mish;
  rows["LeakyRelu"] = leakyRelu;
  rows["PRelu"] = pRelu;
  rows["Elu"] = elu;
  rows["Selu"] = selu;
  rows["Celu"] = celu;
  rows["Softsign"] = softsign;
}

} // namespace dlc::import

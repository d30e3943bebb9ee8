#include "test/ops/Interpreter.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

using Scalar = double (*)(const double *x);

const llvm::StringMap<Scalar> &scalars() {
  using D = const double *;
  static const llvm::StringMap<Scalar> table = {
      {"neg", [](D x) { return -x[0]; }},
      {"abs", [](D x) { return std::fabs(x[0]); }},
      {"sign", [](D x) { return double(x[0] > 0) - double(x[0] < 0); }},
      {"floor", [](D x) { return std::floor(x[0]); }},
      {"ceil", [](D x) { return std::ceil(x[0]); }},
      {"round", [](D x) { return std::nearbyint(x[0]); }},
      {"exp", [](D x) { return std::exp(x[0]); }},
      {"log", [](D x) { return std::log(x[0]); }},
      {"sqrt", [](D x) { return std::sqrt(x[0]); }},
      {"rsqrt", [](D x) { return 1 / std::sqrt(x[0]); }},
      {"reciprocal", [](D x) { return 1 / x[0]; }},
      {"tanh", [](D x) { return std::tanh(x[0]); }},
      {"sigmoid", [](D x) { return 1 / (1 + std::exp(-x[0])); }},
      {"relu", [](D x) { return x[0] < 0 ? 0 : x[0]; }},
      {"erf", [](D x) { return std::erf(x[0]); }},
      {"sin", [](D x) { return std::sin(x[0]); }},
      {"cos", [](D x) { return std::cos(x[0]); }},
      {"softplus",
       [](D x) {
         return std::fmax(x[0], 0) + std::log1p(std::exp(-std::fabs(x[0])));
       }},
      {"not", [](D x) { return double(x[0] == 0); }},
      {"is_finite", [](D x) { return double(std::isfinite(x[0])); }},
      {"add", [](D x) { return x[0] + x[1]; }},
      {"sub", [](D x) { return x[0] - x[1]; }},
      {"mul", [](D x) { return x[0] * x[1]; }},
      {"div", [](D x) { return x[0] / x[1]; }},
      {"pow", [](D x) { return std::pow(x[0], x[1]); }},
      {"max",
       [](D x) { return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1]; }},
      {"min",
       [](D x) { return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1]; }},
      {"and", [](D x) { return double(x[0] && x[1]); }},
      {"or", [](D x) { return double(x[0] || x[1]); }},
      {"select", [](D x) { return x[0] ? x[1] : x[2]; }},
      {"lerp", [](D x) { return x[0] + x[2] * (x[1] - x[0]); }},
      {"all_reduce", [](D x) { return x[0]; }},
  };
  return table;
}

double gelu(double x, bool tanhForm) {
  if (!tanhForm)
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  const double k = std::sqrt(2 / M_PI);
  return 0.5 * x * (1 + std::tanh(k * (x + 0.044715 * x * x * x)));
}

double compare(Predicate p, double a, double b) {
  switch (p) {
  case Predicate::eq:
    return a == b;
  case Predicate::ne:
    return a != b;
  case Predicate::lt:
    return a < b;
  case Predicate::le:
    return a <= b;
  case Predicate::gt:
    return a > b;
  case Predicate::ge:
    return a >= b;
  }
  llvm_unreachable("every predicate is listed");
}

double convert(double x, Type to) {
  if (to.isInteger(1))
    return x != 0;
  return isa<IntegerType>(to) ? std::trunc(x) : x;
}

} // namespace

std::optional<Tensors> runElementwise(Operation *op, const Tensors &x) {
  std::function<double(const double *)> f;
  auto known = scalars().find(op->getName().stripDialect());
  if (known != scalars().end())
    f = known->second;
  if (auto form = dyn_cast<GeluOp>(op))
    f = [=](const double *v) mutable { return gelu(*v, form.getTanh()); };
  if (auto cast = dyn_cast<CastOp>(op))
    f = [=](const double *v) mutable {
      return convert(*v, elementType(cast.getY()));
    };
  if (auto c = dyn_cast<CompareOp>(op))
    f = [=](const double *v) mutable {
      return compare(c.getPredicate(), v[0], v[1]);
    };
  if (!f)
    return std::nullopt;
  Tensor y(tensorType(op->getResult(0)).getShape());
  forEach(y.shape, [&](const Shape &i) {
    double v[3];
    for (size_t k = 0; k < x.size(); ++k)
      v[k] = x[k].at(i);
    y.at(i) = f(v);
  });
  return Tensors{y};
}

} // namespace dlc::reference

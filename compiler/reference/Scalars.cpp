// SPDX-License-Identifier: Apache-2.0
#include "compiler/reference/Scalars.h"
#include <cmath>
#include <limits>
#include <unordered_map>

namespace dlc::reference {
namespace {

using D = const double *;
using I = const int64_t *;

int64_t add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t multiply(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}
int64_t negate(int64_t a) { return int64_t(-uint64_t(a)); }

int64_t divide(I x, bool &defined) {
  defined = x[1] != 0 && !(x[0] == INT64_MIN && x[1] == -1);
  return defined ? x[0] / x[1] : 0;
}
int64_t power(I x, bool &defined) {
  defined = x[1] >= 0;
  int64_t result = 1, factor = x[0];
  for (int64_t e = x[1]; defined && e > 0; e >>= 1) {
    if (e & 1)
      result = multiply(result, factor);
    factor = multiply(factor, factor);
  }
  return result;
}

using Table = std::unordered_map<std::string_view, Scalar>;

const Table kOnOne = {
    {"neg",
     {[](D x) { return -x[0]; }, [](I x, bool &) { return negate(x[0]); }}},
    {"abs",
     {[](D x) { return std::fabs(x[0]); },
      [](I x, bool &) { return x[0] < 0 ? negate(x[0]) : x[0]; }}},
    {"sign",
     {[](D x) { return double(x[0] > 0) - double(x[0] < 0); },
      [](I x, bool &) { return int64_t(x[0] > 0) - int64_t(x[0] < 0); }}},
    {"floor", {[](D x) { return std::floor(x[0]); }}},
    {"ceil", {[](D x) { return std::ceil(x[0]); }}},
    {"round", {[](D x) { return std::nearbyint(x[0]); }}},
    {"exp", {[](D x) { return std::exp(x[0]); }}},
    {"log", {[](D x) { return std::log(x[0]); }}},
    {"sqrt", {[](D x) { return std::sqrt(x[0]); }}},
    {"rsqrt", {[](D x) { return 1 / std::sqrt(x[0]); }}},
    {"reciprocal", {[](D x) { return 1 / x[0]; }}},
    {"tanh", {[](D x) { return std::tanh(x[0]); }}},
    {"sigmoid", {[](D x) { return 1 / (1 + std::exp(-x[0])); }}},
    {"relu",
     {[](D x) { return x[0] < 0 ? 0 : x[0]; },
      [](I x, bool &) { return x[0] < 0 ? 0 : x[0]; }}},
    {"relu_backward", {[](D x) { return x[1] <= 0 ? 0 : x[0]; }}},
    {"erf", {[](D x) { return std::erf(x[0]); }}},
    {"sin", {[](D x) { return std::sin(x[0]); }}},
    {"cos", {[](D x) { return std::cos(x[0]); }}},
    {"atan", {[](D x) { return std::atan(x[0]); }}},
    {"softplus", {[](D x) {
       return std::fmax(x[0], 0) + std::log1p(std::exp(-std::fabs(x[0])));
     }}},
    {"not", {nullptr, [](I x, bool &) { return int64_t(!x[0]); }}},
    {"is_finite", {[](D x) { return double(std::isfinite(x[0])); }}},
    {"all_reduce", {[](D x) { return x[0]; }}},
};

const Table kOnSome = {
    {"add",
     {[](D x) { return x[0] + x[1]; },
      [](I x, bool &) { return add(x[0], x[1]); }}},
    {"sub",
     {[](D x) { return x[0] - x[1]; },
      [](I x, bool &) { return add(x[0], negate(x[1])); }}},
    {"mul",
     {[](D x) { return x[0] * x[1]; },
      [](I x, bool &) { return multiply(x[0], x[1]); }}},
    {"div", {[](D x) { return x[0] / x[1]; }, divide}},
    {"pow", {[](D x) { return std::pow(x[0], x[1]); }, power}},
    {"max", // NaN if either is
     {[](D x) { return std::isnan(x[1]) || x[0] < x[1] ? x[1] : x[0]; },
      [](I x, bool &) { return std::max(x[0], x[1]); }}},
    {"min",
     {[](D x) { return std::isnan(x[1]) || x[1] < x[0] ? x[1] : x[0]; },
      [](I x, bool &) { return std::min(x[0], x[1]); }}},
    {"and", {nullptr, [](I x, bool &) { return x[0] & x[1]; }}},
    {"or", {nullptr, [](I x, bool &) { return x[0] | x[1]; }}},
    {"select",
     {[](D x) { return x[0] ? x[1] : x[2]; },
      [](I x, bool &) { return x[0] ? x[1] : x[2]; }}},
    {"lerp", {[](D x) { return x[0] + x[2] * (x[1] - x[0]); }}},
    {"eq",
     {[](D x) { return double(x[0] == x[1]); },
      [](I x, bool &) { return int64_t(x[0] == x[1]); }}},
    {"ne",
     {[](D x) { return double(x[0] != x[1]); },
      [](I x, bool &) { return int64_t(x[0] != x[1]); }}},
    {"lt",
     {[](D x) { return double(x[0] < x[1]); },
      [](I x, bool &) { return int64_t(x[0] < x[1]); }}},
    {"le",
     {[](D x) { return double(x[0] <= x[1]); },
      [](I x, bool &) { return int64_t(x[0] <= x[1]); }}},
    {"gt",
     {[](D x) { return double(x[0] > x[1]); },
      [](I x, bool &) { return int64_t(x[0] > x[1]); }}},
    {"ge",
     {[](D x) { return double(x[0] >= x[1]); },
      [](I x, bool &) { return int64_t(x[0] >= x[1]); }}},
};

} // namespace

const Scalar *scalarOf(std::string_view op) {
  for (const Table *table : {&kOnOne, &kOnSome})
    if (auto found = table->find(op); found != table->end())
      return &found->second;
  return nullptr;
}

const Fold kSum{0, [](double a, double x) { return a + x; }, 0, add};
const Fold kProduct{1, [](double a, double x) { return a * x; }, 1, multiply};
const Fold kMax{-std::numeric_limits<double>::infinity(),
                [](double a, double x) { return a < x ? x : a; }, INT64_MIN,
                [](int64_t a, int64_t x) { return std::max(a, x); }};
const Fold kMin{std::numeric_limits<double>::infinity(),
                [](double a, double x) { return x < a ? x : a; }, INT64_MAX,
                [](int64_t a, int64_t x) { return std::min(a, x); }};

} // namespace dlc::reference

// SPDX-License-Identifier: Apache-2.0
// f16 and bf16, alone and in pairs. PTX ISA, "Half Precision Floating Point
// Instructions". Sums and products of two are exact in f64; that of fma is
// rounded to odd, then once to the type. SM 100 also adds a half to a float.
#include "Numbers.h"
#include "Opcodes.h"

namespace dlc::ptx {
namespace {

/// a * b + c in f64, rounded to odd: the product is exact.
double fusedToOdd(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  const double other = sum - product,
               lost = (product - (sum - other)) + (c - other);
  if (lost == 0 || std::bit_cast<uint64_t>(sum) & 1)
    return sum;
  return std::nextafter(sum, lost > 0 ? HUGE_VAL : -HUGE_VAL);
}

template <class T> T maxZero(T v) {
  return v.bits >> 15 && !std::isnan(widen(v)) ? T{0} : v;
}

/// One operation on scalars, and on both halves of registers of 32 bits.
template <class T, class... S, class F>
void addBoth(Opcodes &to, const std::string &name, const std::string &type, F) {
  to[name + type] = computing<T, S...>(F{});
  const auto pairs = [](auto... v) {
    return uint32_t(F{}(T{uint16_t(v)}...).bits) |
           uint32_t(F{}(T{uint16_t(v >> 16)}...).bits) << 16;
  };
  if constexpr (sizeof...(S) == 1)
    to[name + type + "x2"] = computing<uint32_t, uint32_t>(pairs);
  else if constexpr (sizeof...(S) == 2)
    to[name + type + "x2"] = computing<uint32_t, uint32_t, uint32_t>(pairs);
  else
    to[name + type + "x2"] =
        computing<uint32_t, uint32_t, uint32_t, uint32_t>(pairs);
}

template <class T> void addType(Opcodes &to, const std::string &type) {
  const auto add = [](T a, T b) {
    return narrow<T>(double(widen(a)) + widen(b));
  };
  const auto subtract = [](T a, T b) {
    return narrow<T>(double(widen(a)) - widen(b));
  };
  const auto multiply = [](T a, T b) {
    return narrow<T>(double(widen(a)) * widen(b));
  };
  for (const char *mode : {"", ".rn"}) {
    addBoth<T, T, T>(to, std::string("add") + mode, type, add);
    addBoth<T, T, T>(to, std::string("sub") + mode, type, subtract);
    addBoth<T, T, T>(to, std::string("mul") + mode, type, multiply);
  }
  addBoth<T, T, T, T>(to, "fma.rn", type, [](T a, T b, T c) {
    return narrow<T>(fusedToOdd(widen(a), widen(b), widen(c)));
  });
  addBoth<T, T, T, T>(to, "fma.rn.relu", type, [](T a, T b, T c) {
    return maxZero(narrow<T>(fusedToOdd(widen(a), widen(b), widen(c))));
  });
  to["add.rn.f32" + type] =
      computing<float, T, float>([](T a, float b) { return widen(a) + b; });
  to["sub.rn.f32" + type] =
      computing<float, T, float>([](T a, float b) { return widen(a) - b; });
  to["fma.rn.f32" + type] = computing<float, T, T, float>(
      [](T a, T b, float c) { return std::fma(widen(a), widen(b), c); });
  addBoth<T, T>(to, "neg", type,
                [](T a) { return T{uint16_t(a.bits ^ 0x8000)}; });
  addBoth<T, T>(to, "abs", type,
                [](T a) { return T{uint16_t(a.bits & 0x7fff)}; });
  const auto extremum = [&]<bool kMax, bool kNan>(const char *name) {
    addBoth<T, T, T>(to, name, type, [](T a, T b) {
      return narrow<T>(extreme<kMax, kNan>(widen(a), widen(b)));
    });
  };
  extremum.template operator()<true, false>("max");
  extremum.template operator()<false, false>("min");
  extremum.template operator()<true, true>("max.NaN");
  extremum.template operator()<false, true>("min.NaN");
}

} // namespace

void addHalves(Opcodes &to) {
  addType<F16>(to, ".f16");
  addType<Bf16>(to, ".bf16");
}

} // namespace dlc::ptx

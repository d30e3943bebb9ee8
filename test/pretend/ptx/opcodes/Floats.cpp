// SPDX-License-Identifier: Apache-2.0
// f32 and f64. PTX ISA, "Floating Point Instructions". Without .ftz subnormals
// are kept, as .rn rounds. approx: the host's function, more exact than the
// GPU's (whose relative errors are some 2^-22).
#include "Numbers.h"
#include "Opcodes.h"

#include <cfenv>
#include <cmath>

namespace dlc::ptx {
namespace {

float flush(float v) {
  return std::fabs(v) < std::numeric_limits<float>::min()
             ? std::copysign(0.0f, v)
             : v;
}
/// [0, 1], a NaN is 0.
float saturate(float v) { return v > 0 ? std::fmin(v, 1.0f) : 0; }

/// What .ftz and .sat change: operands and result.
template <bool kFlush, bool kSaturate, class T, class F, class... S>
T modified(F f, S... values) {
  if constexpr (std::is_same_v<T, float>) {
    float result = kFlush ? flush(f(flush(values)...)) : f(values...);
    return kSaturate ? saturate(result) : result;
  } else {
    return f(values...);
  }
}

template <class T, class... S, class F>
void addModified(Opcodes &to, const std::string &name, const char *type, F) {
  to[name + type] = computing<T, S...>(
      [](auto... v) { return modified<false, false, T>(F{}, v...); });
  if constexpr (std::is_same_v<T, float>) {
    to[name + ".ftz" + type] = computing<T, S...>(
        [](auto... v) { return modified<true, false, T>(F{}, v...); });
    to[name + ".sat" + type] = computing<T, S...>(
        [](auto... v) { return modified<false, true, T>(F{}, v...); });
    to[name + ".ftz.sat" + type] = computing<T, S...>(
        [](auto... v) { return modified<true, true, T>(F{}, v...); });
  }
}

/// Under a rounding mode of the host. The sources pass through memory, so that
/// nothing is computed before the mode is set.
template <int kMode, class T, class F, class... S> T rounded(F f, S... values) {
  volatile T kept[] = {values...};
  const int mode = std::fegetround();
  std::fesetround(kMode);
  volatile T result = [&]<size_t... I>(std::index_sequence<I...>) {
    return f(kept[I]...);
  }
  (std::index_sequence_for<S...>());
  std::fesetround(mode);
  return result;
}

template <class T, class... S, class F>
void addRounded(Opcodes &to, const std::string &name, const char *type, F f) {
  addModified<T, S...>(to, name + ".rn", type, f);
  addModified<T, S...>(to, name + ".rz", type, [](auto... v) {
    return rounded<FE_TOWARDZERO, T>(F{}, v...);
  });
  addModified<T, S...>(to, name + ".rm", type, [](auto... v) {
    return rounded<FE_DOWNWARD, T>(F{}, v...);
  });
  addModified<T, S...>(to, name + ".rp", type, [](auto... v) {
    return rounded<FE_UPWARD, T>(F{}, v...);
  });
}

template <class T> void addArithmetic(Opcodes &to, const char *type) {
  const auto add = [](T a, T b) -> T { return a + b; };
  const auto subtract = [](T a, T b) -> T { return a - b; };
  const auto multiply = [](T a, T b) -> T { return a * b; };
  // Without a mode they round to nearest, but may be contracted.
  addModified<T, T, T>(to, "add", type, add);
  addModified<T, T, T>(to, "sub", type, subtract);
  addModified<T, T, T>(to, "mul", type, multiply);
  addRounded<T, T, T>(to, "add", type, add);
  addRounded<T, T, T>(to, "sub", type, subtract);
  addRounded<T, T, T>(to, "mul", type, multiply);
  addRounded<T, T, T, T>(to, "fma", type,
                         [](T a, T b, T c) -> T { return std::fma(a, b, c); });
  addRounded<T, T, T>(to, "div", type, [](T a, T b) -> T { return a / b; });
  addRounded<T, T>(to, "rcp", type, [](T a) -> T { return T(1) / a; });
  addRounded<T, T>(to, "sqrt", type, [](T a) -> T { return std::sqrt(a); });
  addModified<T, T>(to, "neg", type, [](T a) -> T { return -a; });
  addModified<T, T>(to, "abs", type, [](T a) -> T { return std::fabs(a); });
  addModified<T, T, T>(to, "max", type, call<extreme<true, false, T>>);
  addModified<T, T, T>(to, "min", type, call<extreme<false, false, T>>);
  addModified<T, T, T>(to, "max.NaN", type, call<extreme<true, true, T>>);
  addModified<T, T, T>(to, "min.NaN", type, call<extreme<false, true, T>>);
  // The second source gives the value, the first the sign.
  addModified<T, T, T>(to, "copysign", type,
                       [](T a, T b) -> T { return std::copysign(b, a); });
}

void addApproximate(Opcodes &to) {
  using Function = float (*)(float);
  const auto unary = [&]<class F>(const std::string &name, F f) {
    addModified<float, float>(to, name + ".approx", ".f32", f);
  };
  static_assert(std::is_same_v<Function, float (*)(float)>);
  unary("ex2", [](float v) { return std::exp2(v); });
  unary("lg2", [](float v) { return std::log2(v); });
  unary("sin", [](float v) { return std::sin(v); });
  unary("cos", [](float v) { return std::cos(v); });
  unary("tanh", [](float v) { return std::tanh(v); });
  unary("sqrt", [](float v) { return std::sqrt(v); });
  unary("rcp", [](float v) { return 1 / v; });
  unary("rsqrt", [](float v) { return float(1 / std::sqrt(double(v))); });
  const auto divide = [](float a, float b) { return a / b; };
  addModified<float, float, float>(to, "div.approx", ".f32", divide);
  addModified<float, float, float>(to, "div.full", ".f32", divide);
  // Only the upper 32 bits of source and result count.
  const auto upper = [](double v) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(v) >> 32 << 32);
  };
  static_assert(std::is_empty_v<decltype(upper)>);
  to["rcp.approx.ftz.f64"] = computing<double, double>(
      [](double v) { return decltype(upper){}(1 / decltype(upper){}(v)); });
  to["rsqrt.approx.ftz.f64"] = computing<double, double>([](double v) {
    return decltype(upper){}(1 / std::sqrt(decltype(upper){}(v)));
  });
}

} // namespace

void addFloats(Opcodes &to) {
  addArithmetic<float>(to, ".f32");
  addArithmetic<double>(to, ".f64");
  addApproximate(to);
}

} // namespace dlc::ptx

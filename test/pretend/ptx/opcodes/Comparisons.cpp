// SPDX-License-Identifier: Apache-2.0
// setp, also combined with another predicate, and testp. PTX ISA, "Comparison
// and Selection Instructions".
#include "Numbers.h"
#include "Opcodes.h"

namespace dlc::ptx {
namespace {

template <class T> auto comparable(T v) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>)
    return widen(v);
  else
    return v;
}

template <class T, class F>
void addOne(Opcodes &to, const std::string &name, const std::string &type, F) {
  to["setp." + name + type] = computing<bool, T, T>(
      [](T a, T b) { return F{}(comparable(a), comparable(b)); });
  to["setp." + name + ".and" + type] = computing<bool, T, T, bool>(
      [](T a, T b, bool c) { return F{}(comparable(a), comparable(b)) && c; });
  to["setp." + name + ".or" + type] = computing<bool, T, T, bool>(
      [](T a, T b, bool c) { return F{}(comparable(a), comparable(b)) || c; });
  to["setp." + name + ".xor" + type] = computing<bool, T, T, bool>(
      [](T a, T b, bool c) { return F{}(comparable(a), comparable(b)) != c; });
}

template <class T> void addOrdered(Opcodes &to, const std::string &type) {
  addOne<T>(to, "eq", type, [](auto a, auto b) { return a == b; });
  addOne<T>(to, "lt", type, [](auto a, auto b) { return a < b; });
  addOne<T>(to, "le", type, [](auto a, auto b) { return a <= b; });
  addOne<T>(to, "gt", type, [](auto a, auto b) { return a > b; });
  addOne<T>(to, "ge", type, [](auto a, auto b) { return a >= b; });
}

template <class T> void addInteger(Opcodes &to, const std::string &type) {
  addOrdered<T>(to, type);
  addOne<T>(to, "ne", type, [](auto a, auto b) { return a != b; });
  if (type[1] != 'u')
    return;
  addOne<T>(to, "lo", type, [](auto a, auto b) { return a < b; });
  addOne<T>(to, "ls", type, [](auto a, auto b) { return a <= b; });
  addOne<T>(to, "hi", type, [](auto a, auto b) { return a > b; });
  addOne<T>(to, "hs", type, [](auto a, auto b) { return a >= b; });
}

/// eq ... are false where a source is a NaN, equ ... are true.
template <class T> void addFloat(Opcodes &to, const std::string &type) {
  addOrdered<T>(to, type);
  addOne<T>(to, "ne", type, [](auto a, auto b) { return a < b || a > b; });
  addOne<T>(to, "equ", type, [](auto a, auto b) { return !(a < b || a > b); });
  addOne<T>(to, "neu", type, [](auto a, auto b) { return a != b; });
  addOne<T>(to, "ltu", type, [](auto a, auto b) { return !(a >= b); });
  addOne<T>(to, "leu", type, [](auto a, auto b) { return !(a > b); });
  addOne<T>(to, "gtu", type, [](auto a, auto b) { return !(a <= b); });
  addOne<T>(to, "geu", type, [](auto a, auto b) { return !(a < b); });
  addOne<T>(to, "num", type,
            [](auto a, auto b) { return !std::isnan(a) && !std::isnan(b); });
  addOne<T>(to, "nan", type,
            [](auto a, auto b) { return std::isnan(a) || std::isnan(b); });
}

template <class T> void addTests(Opcodes &to, const std::string &type) {
  const auto add = [&](const std::string &name, auto f) {
    to["testp." + name + type] = computing<bool, T>(f);
  };
  add("finite", [](T v) { return std::isfinite(v); });
  add("infinite", [](T v) { return std::isinf(v); });
  add("number", [](T v) { return !std::isnan(v); });
  add("notanumber", [](T v) { return std::isnan(v); });
  add("normal", [](T v) { return std::isnormal(v); });
  add("subnormal", [](T v) { return std::fpclassify(v) == FP_SUBNORMAL; });
}

} // namespace

void addComparisons(Opcodes &to) {
  addInteger<uint16_t>(to, ".u16");
  addInteger<uint32_t>(to, ".u32");
  addInteger<uint64_t>(to, ".u64");
  addInteger<int16_t>(to, ".s16");
  addInteger<int32_t>(to, ".s32");
  addInteger<int64_t>(to, ".s64");
  addInteger<uint16_t>(to, ".b16");
  addInteger<uint32_t>(to, ".b32");
  addInteger<uint64_t>(to, ".b64");
  addFloat<float>(to, ".f32");
  addFloat<double>(to, ".f64");
  addFloat<F16>(to, ".f16");
  addFloat<Bf16>(to, ".bf16");
  addTests<float>(to, ".f32");
  addTests<double>(to, ".f64");
}

} // namespace dlc::ptx

// SPDX-License-Identifier: Apache-2.0
// cvt, and the table of all opcodes that compute registers from registers. PTX
// ISA, "Data Movement and Conversion Instructions: cvt".
//
// Every value of every type is exact in the host's long double (64 bits of
// mantissa), from which it is rounded once.
#include "Numbers.h"
#include "Opcodes.h"

#include <cfenv>
#include <optional>
#include <sstream>

namespace dlc::ptx {
namespace {

using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits == 64);

enum Flags { kSaturate = 16, kRelu = 64 };
/// The low bits of a mode: how to round, to the type or to an integer.
enum Rounding { Nearest, Zero, Down, Up };

int modeOf(Rounding r) {
  return r == Zero   ? FE_TOWARDZERO
         : r == Down ? FE_DOWNWARD
         : r == Up   ? FE_UPWARD
                     : FE_TONEAREST;
}

Exact integral(Exact v, Rounding r) {
  return r == Zero   ? std::trunc(v)
         : r == Down ? std::floor(v)
         : r == Up   ? std::ceil(v)
                     : std::nearbyint(v);
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;

template <class T> Exact exact(T v) {
  if constexpr (kIsHalf<T>)
    return widen(v);
  else
    return v;
}

template <class T> T roundTo(Exact v, Rounding r) {
  if constexpr (kIsHalf<T>) {
    return narrow<T>(v);
  } else {
    volatile Exact kept = v;
    std::fesetround(modeOf(r));
    volatile T result = static_cast<T>(kept);
    std::fesetround(FE_TONEAREST);
    return result;
  }
}

template <class D, class S> D toInteger(S source, int64_t mode) {
  Exact v = exact(source);
  if constexpr (!std::is_integral_v<S>) {
    if (std::isnan(v)) // as the ISA's table says
      return sizeof(S) == 8 || sizeof(D) == 8
                 ? static_cast<D>(uint64_t(1) << (sizeof(D) * 8 - 1))
                 : D(0);
    v = integral(v, Rounding(mode & 3));
  } else if (!(mode & kSaturate)) {
    return static_cast<D>(source);
  }
  if (v < static_cast<Exact>(std::numeric_limits<D>::min()))
    return std::numeric_limits<D>::min();
  if (v > static_cast<Exact>(std::numeric_limits<D>::max()))
    return std::numeric_limits<D>::max();
  return static_cast<D>(v);
}

template <class D, class S> D toFloat(S source, int64_t mode) {
  Exact v = exact(source);
  if (mode & kSaturate)
    v = v > 0 ? std::fmin(v, Exact(1)) : 0;
  if (mode & kRelu && v < 0)
    v = 0;
  return roundTo<D>(v, Rounding(mode & 3));
}

/// Between floats of one type, where a rounding is one to an integer.
template <class T> T toIntegral(T source, int64_t mode) {
  return roundTo<T>(integral(exact(source), Rounding(mode & 3)), Nearest);
}

template <class D, class S>
const Instruction *convert(const Instruction *i, Thread &t) {
  const S source = fromRegister<S>(t.registers[i->operands[1]]);
  D result;
  if constexpr (std::is_integral_v<D>)
    result = toInteger<D>(source, i->number);
  else
    result = toFloat<D>(source, i->number);
  t.registers[i->operands[0]] = toRegister(result);
  return i + 1;
}

template <class T>
const Instruction *toIntegralOf(const Instruction *i, Thread &t) {
  uint64_t *r = t.registers;
  r[i->operands[0]] =
      toRegister(toIntegral(fromRegister<T>(r[i->operands[1]]), i->number));
  return i + 1;
}

/// Two sources, of which the first goes to the upper half.
template <class T>
const Instruction *convertPair(const Instruction *i, Thread &t) {
  uint64_t *r = t.registers;
  const auto half = [&](int operand) {
    return toFloat<T>(fromRegister<float>(r[i->operands[operand]]), i->number);
  };
  const uint32_t high = half(1).bits, low = half(2).bits;
  r[i->operands[0]] = high << 16 | low;
  return i + 1;
}

/// To the nearest: by far the most frequent.
template <class T>
const Instruction *roundPair(const Instruction *i, Thread &t) {
  uint64_t *r = t.registers;
  const auto half = [&](int operand) -> uint32_t {
    return narrow<T>(fromRegister<float>(r[i->operands[operand]])).bits;
  };
  r[i->operands[0]] = half(1) << 16 | half(2);
  return i + 1;
}

template <class D> Handler handlerFrom(const std::string &source) {
  const std::pair<const char *, Handler> all[] = {
      {"s8", convert<D, int8_t>},   {"u8", convert<D, uint8_t>},
      {"s16", convert<D, int16_t>}, {"u16", convert<D, uint16_t>},
      {"s32", convert<D, int32_t>}, {"u32", convert<D, uint32_t>},
      {"s64", convert<D, int64_t>}, {"u64", convert<D, uint64_t>},
      {"f16", convert<D, F16>},     {"bf16", convert<D, Bf16>},
      {"f32", convert<D, float>},   {"f64", convert<D, double>}};
  for (const auto &[name, run] : all)
    if (source == name)
      return run;
  return nullptr;
}

Handler handlerOf(const std::string &to, const std::string &source) {
  return to == "s8"     ? handlerFrom<int8_t>(source)
         : to == "u8"   ? handlerFrom<uint8_t>(source)
         : to == "s16"  ? handlerFrom<int16_t>(source)
         : to == "u16"  ? handlerFrom<uint16_t>(source)
         : to == "s32"  ? handlerFrom<int32_t>(source)
         : to == "u32"  ? handlerFrom<uint32_t>(source)
         : to == "s64"  ? handlerFrom<int64_t>(source)
         : to == "u64"  ? handlerFrom<uint64_t>(source)
         : to == "f16"  ? handlerFrom<F16>(source)
         : to == "bf16" ? handlerFrom<Bf16>(source)
         : to == "f32"  ? handlerFrom<float>(source)
         : to == "f64"  ? handlerFrom<double>(source)
                        : nullptr;
}

std::optional<Rounding> roundingOf(const std::string &modifier) {
  if (modifier.size() < 2 || modifier.size() > 3 || modifier[0] != 'r' ||
      (modifier.size() == 3 && modifier[2] != 'i'))
    return {};
  switch (modifier[1]) {
  case 'n':
    return Nearest;
  case 'z':
    return Zero;
  case 'm':
    return Down;
  case 'p':
    return Up;
  }
  return {};
}

} // namespace

Opcode conversionOf(const std::string &opcode) {
  std::vector<std::string> words;
  std::istringstream text(opcode);
  for (std::string word; std::getline(text, word, '.');)
    words.push_back(word);
  const Opcode unknown{nullptr, 0};
  if (words.size() < 3 || words[0] != "cvt")
    return unknown;
  const std::string source = words.back(), to = words[words.size() - 2];
  int64_t mode = 0;
  bool isRounded = false, isIntegral = false;
  for (size_t i = 1; i + 2 < words.size(); ++i) {
    const auto rounding = roundingOf(words[i]);
    if (rounding) {
      mode |= *rounding;
      isRounded = true;
      isIntegral = words[i].size() == 3;
    } else if (words[i] == "sat") {
      mode |= kSaturate;
    } else if (words[i] == "relu") {
      mode |= kRelu;
    } else {
      return unknown; // .ftz, .satfinite, .pack: nothing emits them
    }
  }
  const bool toHalf = to == "f16" || to == "bf16" || to.ends_with("x2");
  if (toHalf && (mode & 3) != Nearest)
    return unknown;
  if (source == "f32" && to == "bf16x2")
    return {mode ? convertPair<Bf16> : roundPair<Bf16>, 2, mode};
  if (source == "f32" && to == "f16x2")
    return {mode ? convertPair<F16> : roundPair<F16>, 2, mode};
  if (to == source && isIntegral)
    return {to == "f32"    ? toIntegralOf<float>
            : to == "f64"  ? toIntegralOf<double>
            : to == "f16"  ? toIntegralOf<F16>
            : to == "bf16" ? toIntegralOf<Bf16>
                           : nullptr,
            1, mode};
  const bool toInteger = to[0] == 's' || to[0] == 'u',
             fromInteger = source[0] == 's' || source[0] == 'u';
  if (isRounded && (toInteger ? fromInteger || !isIntegral : isIntegral))
    return unknown;
  if (!isRounded && toInteger && !fromInteger)
    return unknown; // the ISA wants a rounding
  return {handlerOf(to, source), 1, mode};
}

const Opcodes &opcodes() {
  static const Opcodes all = [] {
    Opcodes made;
    addIntegers(made);
    addFloats(made);
    addHalves(made);
    addComparisons(made);
    return made;
  }();
  return all;
}

} // namespace dlc::ptx

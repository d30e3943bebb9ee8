// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Convert.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace dlc {
namespace {

// A type as it is stored (Word) and as it is computed with (Value).
template <class W, class V = W> struct Plain {
  using Word = W;
  using Value = V;
  static Value load(Word word) { return static_cast<Value>(word); }
  static Word store(Value value) { return static_cast<Word>(value); }
};
struct Bf16 {
  using Word = uint16_t;
  using Value = float;
  static float load(uint16_t word) { return fromBf16(word); }
  static uint16_t store(float value) { return toBf16(value); }
};
struct F16 {
  using Word = uint16_t;
  using Value = float;
  static float load(uint16_t word) { return fromF16(word); }
  static uint16_t store(float value) { return toF16(value); }
};
struct Boolean {
  using Word = uint8_t;
  using Value = uint8_t;
  static uint8_t load(uint8_t word) { return word != 0; }
  static uint8_t store(uint8_t value) { return value != 0; }
};

template <class T> struct Tag { using Type = T; };

// Calls f with the tag of the form of `type`.
template <class F> auto dispatch(DType type, F &&f) {
  switch (type) {
  case DType::F32:
    return f(Tag<Plain<float>>{});
  case DType::F16:
    return f(Tag<F16>{});
  case DType::BF16:
    return f(Tag<Bf16>{});
  case DType::F64:
    return f(Tag<Plain<double>>{});
  case DType::I64:
    return f(Tag<Plain<int64_t>>{});
  case DType::I32:
    return f(Tag<Plain<int32_t>>{});
  case DType::U8:
    return f(Tag<Plain<uint8_t>>{});
  case DType::Bool:
    break;
  }
  return f(Tag<Boolean>{});
}

template <class From, class To, bool Scaled>
void convert(const std::byte *from, std::byte *to, uint64_t count,
             double scale) {
  using Value = typename To::Value;
  for (uint64_t i = 0; i < count; ++i) {
    typename From::Word word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    Value value = static_cast<Value>(From::load(word));
    if constexpr (Scaled)
      value = static_cast<Value>(static_cast<double>(value) * scale);
    typename To::Word result = To::store(value);
    std::memcpy(to + i * sizeof result, &result, sizeof result);
  }
}

template <class T>
void copy(const std::byte *from, std::byte *to, uint64_t count, double) {
  std::memcpy(to, from, count * sizeof(T));
}

} // namespace

ConvertFunction converter(DType from, DType to, bool scaled) {
  return dispatch(from, [&](auto source) {
    return dispatch(to, [&](auto target) -> ConvertFunction {
      using From = typename decltype(source)::Type;
      using To = typename decltype(target)::Type;
      constexpr bool toFloat = std::is_floating_point_v<typename To::Value>;
      if constexpr (std::is_floating_point_v<typename From::Value> && !toFloat)
        return nullptr;
      else if constexpr (std::is_same_v<From, To>)
        return scaled && toFloat ? convert<From, To, toFloat>
                                 : copy<typename From::Word>;
      else
        return scaled && toFloat ? convert<From, To, toFloat>
                                 : convert<From, To, false>;
    });
  });
}

IntegerRange rangeOf(DType type) {
  switch (type) {
  case DType::I32:
    return {INT32_MIN, INT32_MAX};
  case DType::U8:
    return {0, UINT8_MAX};
  case DType::Bool:
    return {0, 1};
  default:
    return {INT64_MIN, INT64_MAX};
  }
}

int64_t integerAt(const std::byte *data, DType type, uint64_t index) {
  return dispatch(type, [&](auto tag) -> int64_t {
    using Form = typename decltype(tag)::Type;
    typename Form::Word word;
    std::memcpy(&word, data + index * sizeof word, sizeof word);
    return static_cast<int64_t>(Form::load(word));
  });
}

std::optional<uint64_t> findOutside(const std::byte *data, DType type,
                                    uint64_t count, IntegerRange range) {
  return dispatch(type, [&](auto tag) -> std::optional<uint64_t> {
    using Form = typename decltype(tag)::Type;
    for (uint64_t i = 0; i < count; ++i) {
      typename Form::Word word;
      std::memcpy(&word, data + i * sizeof word, sizeof word);
      const int64_t value = static_cast<int64_t>(Form::load(word));
      if (value < range.first || value > range.last)
        return i;
    }
    return std::nullopt;
  });
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Convert.h"

#include "runtime/base/numbers/Forms.h"

#include <cstring>
#include <type_traits>

namespace dlc {
namespace {

template <class From, class To, bool Scaled>
void convert(const std::byte *from, std::byte *to, uint64_t count,
             double scale) {
  using Value = typename To::Value;
  for (uint64_t i = 0; i < count; ++i) {
    typename From::Word word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    Value value = static_cast<Value>(From::load(word));
    if constexpr (Scaled)
      value = static_cast<Value>(double(value) * scale);
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
  return withForm(from, [&]<class From>(From) {
    return withForm(to, [&]<class To>(To) -> ConvertFunction {
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
  return withForm(type, [&]<class Form>(Form) -> int64_t {
    typename Form::Word word;
    std::memcpy(&word, data + index * sizeof word, sizeof word);
    return int64_t(Form::load(word));
  });
}

std::optional<uint64_t> findOutside(const std::byte *data, DType type,
                                    uint64_t count, IntegerRange range) {
  return withForm(type, [&]<class Form>(Form) -> std::optional<uint64_t> {
    for (uint64_t i = 0; i < count; ++i) {
      typename Form::Word word;
      std::memcpy(&word, data + i * sizeof word, sizeof word);
      const int64_t value = int64_t(Form::load(word));
      if (value < range.first || value > range.last)
        return i;
    }
    return std::nullopt;
  });
}

} // namespace dlc

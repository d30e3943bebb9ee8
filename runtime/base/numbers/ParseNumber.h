// SPDX-License-Identifier: Apache-2.0
// Numbers from text, in the same way in every locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

namespace dlc {

// The whole text as a number of type T; null if it is none, or out of range.
// Integers are decimal, or have digits of `base`.
template <class T>
std::optional<T> asNumber(std::string_view text, int base = 10) {
  T value{};
  const char *const last = text.data() + text.size();
  std::from_chars_result read;
  if constexpr (std::is_integral_v<T>)
    read = std::from_chars(text.data(), last, value, base);
  else
    read = std::from_chars(text.data(), last, value);
  return read.ec == std::errc() && read.ptr == last ? std::optional(value)
                                                    : std::nullopt;
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Numbered file names.
#pragma once

#include "runtime/base/Status.h"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// The whole text as a number; null if it is none of the type.
template <class T>
std::optional<T> wholeNumber(std::string_view text, int base = 10) {
  T value{};
  const char *last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value, base);
  return error == std::errc() && end == last ? std::optional(value)
                                             : std::nullopt;
}

// Expands "train-{000..127}.tar" in order, with the same number of digits;
// `path` itself if it has no braces or exists. Code::Usage for a descending
// range, or one of more than kMaxRange.
constexpr int64_t kMaxRange = 60000;
Result<std::vector<std::string>> expandRange(const std::string &path);

} // namespace dlc

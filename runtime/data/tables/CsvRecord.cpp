// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tables/CsvRecord.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace dlc {
namespace {

std::string_view withoutSpaces(std::string_view text) {
  const auto isBlank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

// Behind the closing quote of the field whose text begins at `at`; npos: none.
size_t closingQuote(std::string_view text, size_t at) {
  for (;;) {
    const size_t quote = text.find('"', at);
    if (quote == text.npos || quote + 1 >= text.size() ||
        text[quote + 1] != '"')
      return quote;
    at = quote + 2;
  }
}

} // namespace

Result<size_t> CsvRecord::split(std::string_view text) {
  fields_.clear();
  text = text.substr(0, kMaxCsvRecord);
  for (size_t at = 0;;) {
    CsvField field;
    size_t end = at;
    if (at < text.size() && text[at] == '"') {
      const size_t quote = closingQuote(text, at + 1);
      if (quote == text.npos)
        return failed("a quote is not closed, or a line has more than {} MiB",
                      kMaxCsvRecord >> 20);
      field = {text.substr(at + 1, quote - at - 1), true};
      end = quote + 1;
      if (text.substr(end).starts_with("\r\n"))
        ++end;
      if (end < text.size() && text[end] != separator_ && text[end] != '\n')
        return failed("there is more behind a quoted field");
    } else {
      while (end < text.size() && text[end] != separator_ && text[end] != '\n')
        if (text[end++] == '"')
          return failed("a quote stands in a field that is not quoted as a "
                        "whole");
      std::string_view content = text.substr(at, end - at);
      if (content.ends_with('\r') && (end == text.size() || text[end] == '\n'))
        content.remove_suffix(1);
      field = {withoutSpaces(content), false};
    }
    fields_.push_back(field);
    if (end >= text.size() && text.size() == kMaxCsvRecord)
      return failed("a line has more than {} MiB", kMaxCsvRecord >> 20);
    if (end >= text.size() || text[end] == '\n')
      return std::min(end + 1, text.size());
    at = end + 1;
  }
}

std::string CsvRecord::text(size_t field) const {
  const auto [raw, quoted] = fields_[field];
  std::string result;
  for (size_t at = 0; at < raw.size(); ++at) {
    result += raw[at];
    at += quoted && raw[at] == '"';
  }
  return result;
}

CsvValue csvValue(std::string_view field) {
  constexpr std::array kMissing = {"NA",  "N/A",  "NaN",  "nan",
                                   "NAN", "null", "NULL", "None"};
  if (field.empty() ||
      std::find(kMissing.begin(), kMissing.end(), field) != kMissing.end())
    return {};
  const char *begin = field.data(), *end = begin + field.size();
  if (*begin == '+' && field.size() > 1 && begin[1] != '-')
    ++begin;
  CsvValue value;
  if (const auto [at, error] = std::from_chars(begin, end, value.whole);
      error == std::errc() && at == end) {
    value.kind = CsvKind::Whole;
    value.number = double(value.whole);
    return value;
  }
  const auto [at, error] = std::from_chars(begin, end, value.number);
  if (at != end || error == std::errc::invalid_argument)
    return {CsvKind::Text};
  // Too large, or so small that it is 0.
  if (error == std::errc::result_out_of_range)
    value.number = std::strtod(std::string(begin, end).c_str(), nullptr);
  value.kind =
      std::isfinite(value.number) ? CsvKind::Number : CsvKind::NotFinite;
  return value;
}

} // namespace dlc

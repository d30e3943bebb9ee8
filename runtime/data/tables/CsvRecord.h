// SPDX-License-Identifier: Apache-2.0
// Records of comma-separated values, as RFC 4180 has them, and what a field is.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// No record has more bytes: a quote that is never closed ends there.
constexpr size_t kMaxCsvRecord = 16 << 20;

// One record, split into its fields. Fields may be quoted, with "" for a quote
// in them, separators and line ends; blanks around others do not count. The
// line ends at \n or \r\n. Views of the text that was split.
class CsvRecord {
public:
  explicit CsvRecord(char separator) : separator_(separator) {}

  // Splits the record that `text`, not empty, begins with; the bytes that it
  // takes, with its line end. Errors have no place; after one the record ends
  // at the next line end.
  Result<size_t> split(std::string_view text);

  size_t fields() const { return fields_.size(); }
  // An empty line.
  bool isBlank() const {
    return fields_.size() == 1 && !fields_[0].quoted && fields_[0].text.empty();
  }
  // As it stands there, a quoted one without its outer quotes.
  std::string_view raw(size_t field) const { return fields_[field].text; }
  // With each "" of a quoted one a quote.
  std::string text(size_t field) const;

private:
  struct CsvField {
    std::string_view text;
    bool quoted = false;
  };

  char separator_;
  std::vector<CsvField> fields_;
};

enum class CsvKind { Missing, Whole, Number, NotFinite, Text };

struct CsvValue {
  CsvKind kind = CsvKind::Missing;
  double number = 0; // of Whole, too
  int64_t whole = 0;
};

// A number in decimal, rounded to nearest, whole if it has neither point nor
// exponent and fits 64 bits. Missing: nothing, or what programs write for it
// (NA, N/A, NaN, null, None).
CsvValue csvValue(std::string_view field);

} // namespace dlc

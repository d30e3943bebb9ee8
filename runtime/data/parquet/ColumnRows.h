// SPDX-License-Identifier: Apache-2.0
// A column's values, row by row.
#pragma once

#include "runtime/data/parquet/Pages.h"

#include <functional>

namespace dlc {

// The entries of a row, from one page or several.
struct ColumnRow {
  uint64_t entries = 0;   // that its lists have
  bool isMissing = false; // one of them has no value, or there is none
  bool hasShape = true;   // of that asked for
};

// Takes a row's values, which hold until it returns; those of a row that is
// missing or has another shape may be fewer. False: no more rows are wanted.
struct RowValues {
  std::span<const int64_t> whole;
  std::span<const double> numbers;
  std::span<const std::string> texts;
};
using TakeRow =
    std::function<bool(uint64_t row, const ColumnRow &, const RowValues &)>;

// Reads a column in a group of rows; `shape` has a length for each level of
// lists. Errors name file and column.
Status readRows(const ParquetFile &file, size_t column, size_t group,
                std::span<const int64_t> shape, const TakeRow &take);

// The shape of the first row that has all its values, of any group; of none
// the lengths are 0. A list whose lists differ has the first one's lengths.
Result<std::vector<int64_t>> shapeOfRows(const ParquetFile &file,
                                         size_t column);

} // namespace dlc

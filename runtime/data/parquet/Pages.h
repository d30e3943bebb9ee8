// SPDX-License-Identifier: Apache-2.0
// A column's values in a group of rows, page by page.
#pragma once

#include "runtime/data/parquet/Encodings.h"

namespace dlc {

// Entries of a column: a list has one for each of its elements, or one without
// a value if it has none.
struct ColumnPage {
  // Of each entry; empty if the column has no such levels. Repetition 0 begins
  // a row.
  std::vector<uint32_t> repetition, definition;
  uint64_t entries = 0;
  // Of entries that have a value: whole numbers, numbers or texts, by the
  // column's kind.
  StoredValues values;
};

// Reads a chunk from its front.
class PageReader {
public:
  PageReader(const ParquetFile &file, size_t column, size_t group);

  // The next page, or false behind the last. Errors name file and column. Views
  // hold until the next call.
  Result<bool> next(ColumnPage &to);

private:
  struct PageHead;
  Result<PageHead> readHead();
  Status readDictionary(const PageHead &head);
  Status readPage(const PageHead &head, ColumnPage &to);
  Status readLevels(const PageHead &head, std::span<const std::byte> &rest,
                    ColumnPage &to);
  Status readData(const PageHead &head, std::span<const std::byte> from,
                  ColumnPage &to);
  Status interpret(StoredValues &values) const;
  Result<bool> nextOf(ColumnPage &to);

  const ParquetFile &file_;
  const ParquetColumn &column_;
  const ParquetChunk &chunk_;
  uint64_t at_, left_; // byte of the file; entries to come
  std::vector<std::byte> page_, dictionaryPage_;
  StoredValues dictionary_;
};

} // namespace dlc

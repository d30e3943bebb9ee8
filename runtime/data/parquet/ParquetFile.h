// SPDX-License-Identifier: Apache-2.0
// What a Parquet file says of itself: columns, and where their values are
// (github.com/apache/parquet-format).
#pragma once

#include "runtime/base/files/Files.h"

#include <atomic>
#include <memory>
#include <vector>

namespace dlc {

// How a column's values are stored.
enum class ParquetType {
  Boolean,
  Int32,
  Int64,
  Int96,
  Float,
  Double,
  Bytes,
  FixedBytes
};

// What they mean.
enum class ParquetKind {
  Whole,
  Unsigned,
  Number,
  Half,
  Decimal,
  Text,
  Other // nothing that a sample could be made of
};

// A column of values, or of lists of them.
struct ParquetColumn {
  // Of those on its path: "a", or "a.b" in a struct. What a list adds to the
  // path is left out.
  std::string name;
  ParquetType type = ParquetType::Int32;
  ParquetKind kind = ParquetKind::Whole;
  std::string_view what;   // of Other and Text: "dates"
  uint32_t fixedBytes = 0; // a value of FixedBytes
  int scale = 0;           // of Decimal: digits behind the point
  // A value that is there has this definition level; lists in lists are as many
  // repetition levels.
  uint8_t mostDefinition = 0, mostRepetition = 0;
};

// The values of one column in a group of rows: pages, one behind the other.
struct ParquetChunk {
  int codec = 0; // Compression.h
  uint64_t begin = 0, size = 0, values = 0;
};

struct ParquetGroup {
  uint64_t rows = 0;
  std::vector<ParquetChunk> chunks; // by column
};

struct ParquetFile {
  MappedFile file;
  std::vector<ParquetColumn> columns;
  std::vector<ParquetGroup> groups;
  uint64_t rows = 0;
  // What its writer noted under "huggingface", JSON; empty: nothing.
  std::string features;
  // What was decoded of it, in bytes, by all threads: a few bytes can claim
  // much, again and again.
  std::shared_ptr<std::atomic<uint64_t>> decoded =
      std::make_shared<std::atomic<uint64_t>>(0);

  // How many numbers, and bytes of pictures or names, its rows may be.
  uint64_t mostNumbers() const { return (4 << 20) + 8 * file.size(); }
  uint64_t rowCount() const { return rows; }
  uint64_t mostText() const { return (64 << 20) + 32 * file.size(); }
  // Code::Limit when with these all passes have decoded more than 512 MiB and
  // 128 times the file.
  Status decode(uint64_t bytes) const;
};

// Errors name the file: not Parquet, damaged, encrypted.
Result<ParquetFile> openParquet(const std::string &path);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// The encodings of Parquet's values
// (github.com/apache/parquet-format/blob/master/Encodings.md).
#pragma once

#include "runtime/data/parquet/ParquetFile.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dlc {

// Values of a column as they are stored, in one of the two: whole numbers (of
// unsigned ones and decimals the bits; truth values), or views of text and
// bytes. Floats are numbers at once.
struct StoredValues {
  std::vector<int64_t> whole;
  std::vector<double> numbers;
  std::vector<std::string_view> texts;
  std::vector<std::byte> held; // what texts may point to

  void clear();
};

// `count` numbers of `width` bits, 0 to 32, in runs and groups of packed bits.
// None if the bytes are damaged or too few.
bool readRuns(std::span<const std::byte> from, int width, uint64_t count,
              std::vector<uint32_t> &to);

// Appends `count` values of the column in an encoding by the format's number,
// but for dictionaries. An error has no place: damaged, or an encoding that is
// not known. Views point into `from` or to.held.
Status readValues(int encoding, const ParquetColumn &column,
                  std::span<const std::byte> from, uint64_t count,
                  StoredValues &to);

} // namespace dlc

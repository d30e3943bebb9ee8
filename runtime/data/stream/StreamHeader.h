// SPDX-License-Identifier: Apache-2.0
// The header of a stream of samples.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/data/Npy.h"

#include <limits>

namespace dlc {

// Number of samples of an endless stream, large enough to never be reached.
constexpr int64_t kEndlessSamples = std::numeric_limits<int64_t>::max() / 2;

// A line of JSON: {"dlc": 1, "arrays": [{"name": "x", "dtype": "float32",
// "shape": [1, 28, 28]}, ...], "samples": 60000}. Shapes are of one sample;
// dtypes are numpy's names, or bfloat16; without "samples" the stream is
// endless. A sample's record is its arrays concatenated, little-endian,
// row-major.
struct StreamHeader {
  struct StreamArray {
    std::string name;
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
    uint64_t offset = 0, bytes = 0; // in a record
  };

  std::vector<StreamArray> arrays;
  int64_t samples = kEndlessSamples; // per epoch, for all ranks
  uint64_t recordBytes = 0;

  const StreamArray *find(const std::string &name) const;
};

// Longer lines are not accepted.
constexpr size_t kMaxStreamHeader = 64 << 10;
// Larger records are not accepted.
constexpr uint64_t kMaxStreamRecord = uint64_t(1) << 30;

Result<StreamHeader> parseStreamHeader(std::string_view line);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// What is added to scores before a Softmax: a mask, or numbers that may have
// been learned.
#pragma once
#include "compiler/import/file/GraphEdit.h"
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc::import {

/// Zeros and numbers that no score survives; zeros alone where they are alike
/// for all heads.
inline bool isScoreMask(const std::vector<int64_t> &shape,
                        const std::vector<float> &values) {
  bool masks = shape.size() == 4 && shape[1] == 1;
  for (float number : values) {
    const bool out = number <= -1e4F;
    if (!out && number != 0)
      return false;
    masks |= out;
  }
  return masks;
}

/// One number a row, or a column: a layer's bias may have found its way there.
inline bool isRow(const std::vector<int64_t> &shape) {
  return std::count(shape.begin(), shape.end(), 1) + 1 == std::ssize(shape);
}

/// A mask keeps (0) or leaves out (-1e4 and less), alike for all heads; zeros
/// for each head are what a learned bias starts from.
inline bool mayBeLearned(const std::vector<int64_t> &shape,
                         const std::vector<float> &values) {
  auto isZero = [](float value) { return value == 0; };
  if (std::all_of(values.begin(), values.end(), isZero))
    return shape.size() == 4 && shape[1] > 1;
  return !std::all_of(values.begin(), values.end(),
                      [](float value) { return value == 0 || value <= -1e4F; });
}

/// A bias of scores that was gathered from a table of `rows` rows: [1, H, N,
/// N], of which equal vectors along H are one row.
struct ScoreTable {
  int64_t rows = 0;
  std::string bytes;
  std::vector<int64_t> index; // the row of each of N, N
};
/// Nothing where no two vectors are equal.
std::optional<ScoreTable> scoreTableOf(const Weight &bias);

/// Which values are nothing but added to scores before a Softmax, further
/// arrangements and limits aside. Each is looked at once.
class ScoreReaders {
public:
  explicit ScoreReaders(const GraphEdit &edit) : edit(edit) {}
  bool haveAll(const std::string &value, int depth = 0);

private:
  bool isOne(const Use &use, int depth);
  const GraphEdit &edit;
  std::unordered_map<std::string, bool> known;
};

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Addends of attention scores before a Softmax: masks, or biases that may have
// been trained.
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

/// The values are zeros and large negative numbers, or only zeros if they are
/// the same for all heads.
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

/// One value per row or column, which may be the bias of a layer.
inline bool isRow(const std::vector<int64_t> &shape) {
  return std::count(shape.begin(), shape.end(), 1) + 1 == std::ssize(shape);
}

/// False for masks, which are the same for all heads, with 0 for kept scores
/// and at most -1e4 for others; zeros with a head dimension may be the initial
/// values of a trained bias.
inline bool mayBeLearned(const std::vector<int64_t> &shape,
                         const std::vector<float> &values) {
  if (std::ranges::all_of(values, [](float value) { return value == 0; }))
    return shape.size() == 4 && shape[1] > 1;
  return !std::ranges::all_of(
      values, [](float value) { return value == 0 || value <= -1e4F; });
}

/// A bias of scores [1, H, N, N] that was gathered from a table of `rows` rows,
/// where equal vectors along H are one row.
struct ScoreTable {
  int64_t rows = 0;
  std::string bytes;
  std::vector<int64_t> index; // [N, N] row numbers
};
/// nullopt if no two vectors are equal.
std::optional<ScoreTable> scoreTableOf(const Weight &bias);

/// Whether a value is only added to scores before a Softmax, possibly after it
/// was rearranged or clipped. Memoizes its results.
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

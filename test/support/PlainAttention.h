// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient by their formulas, in loops of doubles: what every
// other form of them is judged by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc::test {

/// q is [B, H, Tq, D], k [B, H, Tk, D], v [B, H, Tk, Dv], y [B, H, Tq, Dv]; all
/// with T before H where `lengthFirst`.
struct AttentionShape {
  int64_t batch = 1, heads = 1, queries = 1, keys = 1;
  int64_t depth = 8, valueDepth = 8;
  bool causal = false, lengthFirst = false;
  double scale = 1;
  /// Of what is added to the scores [B, H, Tq, Tk]: these or 1; zeros: nothing.
  std::array<int64_t, 4> mask = {};

  bool hasMask() const { return mask[3] != 0; }
  std::vector<int64_t> rows(int64_t length, int64_t width) const {
    return lengthFirst ? std::vector{batch, length, heads, width}
                       : std::vector{batch, heads, length, width};
  }
};

struct AttentionValues {
  std::vector<double> q, k, v, mask; // given
  std::vector<double> y, lse;
  std::vector<double> dy; // given
  std::vector<double> dq, dk, dv;
};

/// Computes y and lse, [B, H, Tq, 1]. A query that sees no key has y = 0 and
/// lse = inf.
void attentionForward(const AttentionShape &shape, AttentionValues &values);

/// Computes dq, dk and dv from q, k, v, the mask, dy and y as it is.
void attentionBackward(const AttentionShape &shape, AttentionValues &values);

} // namespace dlc::test

// SPDX-License-Identifier: Apache-2.0
// Reference implementation of attention and its gradient, in loops of doubles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc::test {

/// q is [B, H, Tq, D], k [B, H, Tk, D], v [B, H, Tk, Dv], y [B, H, Tq, Dv]; all
/// with T before H if `lengthFirst`.
struct AttentionShape {
  int64_t batch = 1, heads = 1, queries = 1, keys = 1;
  int64_t depth = 8, valueDepth = 8;
  bool causal = false, lengthFirst = false;
  double scale = 1;
  /// Shape of the mask, broadcast to scores [B, H, Tq, Tk]; zeros: no mask.
  std::array<int64_t, 4> mask = {};

  bool hasMask() const { return mask[3] != 0; }
  std::vector<int64_t> rows(int64_t length, int64_t width) const {
    return lengthFirst ? std::vector{batch, length, heads, width}
                       : std::vector{batch, heads, length, width};
  }
};

struct AttentionValues {
  std::vector<double> q, k, v, mask; // inputs
  std::vector<double> y, lse;
  std::vector<double> dy; // input
  std::vector<double> dq, dk, dv;
};

/// Computes y and lse, [B, H, Tq, 1]. A query that attends to no key has y = 0
/// and lse = inf.
void attentionForward(const AttentionShape &shape, AttentionValues &values);

/// Computes dq, dk and dv from q, k, v, the mask, dy and the given y.
void attentionBackward(const AttentionShape &shape, AttentionValues &values);

} // namespace dlc::test

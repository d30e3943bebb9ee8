// SPDX-License-Identifier: Apache-2.0
// The commands attention and attention_backward, read and checked.
#pragma once

#include "runtime/device/Device.h"

#include <vector>

namespace dlc {

struct Attention {
  bool isBackward = false, hasMask = false, causal = false;
  bool lengthFirst = false; // [B, T, H, D] in memory, else [B, H, T, D]
  int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  int64_t depth = 0, valueDepth = 0; // of q and k; of v and y
  double scale = 1;

  // Of a tensor of `length` rows a head, always as [B, H, T, D].
  std::vector<int64_t> dims(int64_t length, int64_t width) const {
    return {batch, heads, length, width};
  }
  std::vector<int64_t> strides(int64_t length, int64_t width) const {
    if (lengthFirst)
      return {length * heads * width, width, heads * width, 1};
    return {heads * length * width, length * width, width, 1};
  }
  // As the plan states it.
  std::vector<int64_t> shape(int64_t length, int64_t width) const {
    if (lengthFirst)
      return {batch, length, heads, width};
    return {batch, heads, length, width};
  }
};

// Corrupt where operands and attributes contradict each other.
Result<Attention> attentionOf(const CommandSpec &spec);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Parses and checks the commands attention and attention_backward.
#pragma once

#include "runtime/device/Device.h"

#include <vector>

namespace dlc {

struct Attention {
  // The operands that an attention is computed from.
  enum Part { kQ, kK, kV };

  bool isBackward = false, hasMask = false, causal = false;
  bool lengthFirst = false; // [B, T, H, D] in memory, else [B, H, T, D]
  bool isJoint = false; // q, k, v are thirds of the heads of one tensor, as are
                        // their gradients
  int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  int64_t depth = 0, valueDepth = 0; // of q and k; of v and y
  double scale = 1;

  // Indices of operands: a part and its gradient; y and lse in the gradient of
  // attention, which follow q, k and v.
  size_t input(Part part) const { return isBackward + (isJoint ? 0 : part); }
  size_t output(Part part) const { return isJoint ? 0 : part; }
  size_t inputY() const { return isJoint ? 2 : 4; }
  // Number of leading operands of one type: all but lse and the mask.
  size_t halves() const { return (isJoint ? 1 : 3) + (isBackward ? 2u : 0u); }
  size_t halvesOut() const { return isBackward && !isJoint ? 3 : 1; }

  int64_t length(Part part) const { return part == kQ ? queries : keys; }
  int64_t width(Part part) const { return part == kV ? valueDepth : depth; }

  // Layout of a part, in elements: strides of [B, H, T, D], and offset.
  std::vector<int64_t> strides(Part part) const {
    return strides(length(part), width(part), isJoint ? 3 * heads : heads);
  }
  int64_t offset(Part part) const {
    return isJoint ? part * heads * strides(part)[1] : 0;
  }

  // Layout of a tensor with `length` rows per head, in the order [B, H, T, D].
  std::vector<int64_t> dims(int64_t length, int64_t width) const {
    return {batch, heads, length, width};
  }
  std::vector<int64_t> strides(int64_t length, int64_t width) const {
    return strides(length, width, heads);
  }
  // The shape in the plan's order of dimensions.
  std::vector<int64_t> shape(int64_t length, int64_t width) const {
    return shape(length, width, heads);
  }
  std::vector<int64_t> shape(Part part) const {
    return shape(length(part), width(part), isJoint ? 3 * heads : heads);
  }

private:
  std::vector<int64_t> strides(int64_t length, int64_t width,
                               int64_t all) const {
    if (lengthFirst)
      return {length * all * width, width, all * width, 1};
    return {all * length * width, length * width, width, 1};
  }
  std::vector<int64_t> shape(int64_t length, int64_t width, int64_t all) const {
    if (lengthFirst)
      return {batch, length, all, width};
    return {batch, all, length, width};
  }
};

// Corrupt if operands and attributes are inconsistent.
Result<Attention> attentionOf(const CommandSpec &spec);

} // namespace dlc

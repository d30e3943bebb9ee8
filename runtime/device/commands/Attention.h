// SPDX-License-Identifier: Apache-2.0
// The commands attention and attention_backward, read and checked.
#pragma once

#include "runtime/device/Device.h"

#include <vector>

namespace dlc {

struct Attention {
  // What queries, keys and values are in.
  enum Part { kQ, kK, kV };

  bool isBackward = false, hasMask = false, causal = false;
  bool lengthFirst = false; // [B, T, H, D] in memory, else [B, H, T, D]
  bool isJoint = false; // q, k, v are thirds of the heads of one tensor; so are
                        // their gradients
  int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  int64_t depth = 0, valueDepth = 0; // of q and k; of v and y
  double scale = 1;

  // Numbers of operands: of a part and its gradient; of y and lse in
  // attention's gradient, which follow q, k and v.
  size_t input(Part part) const { return isBackward + (isJoint ? 0 : part); }
  size_t output(Part part) const { return isJoint ? 0 : part; }
  size_t inputY() const { return isJoint ? 2 : 4; }
  // The first inputs and outputs, all but lse and the mask, are of one type.
  size_t halves() const { return (isJoint ? 1 : 3) + (isBackward ? 2u : 0u); }
  size_t halvesOut() const { return isBackward && !isJoint ? 3 : 1; }

  int64_t length(Part part) const { return part == kQ ? queries : keys; }
  int64_t width(Part part) const { return part == kV ? valueDepth : depth; }

  // Of a part, in elements: strides as [B, H, T, D], the first one's place.
  std::vector<int64_t> strides(Part part) const {
    return strides(length(part), width(part), isJoint ? 3 * heads : heads);
  }
  int64_t offset(Part part) const {
    return isJoint ? part * heads * strides(part)[1] : 0;
  }

  // Of a tensor of `length` rows a head, always as [B, H, T, D].
  std::vector<int64_t> dims(int64_t length, int64_t width) const {
    return {batch, heads, length, width};
  }
  std::vector<int64_t> strides(int64_t length, int64_t width) const {
    return strides(length, width, heads);
  }
  // As the plan states it.
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

// Corrupt where operands and attributes contradict each other.
Result<Attention> attentionOf(const CommandSpec &spec);

} // namespace dlc

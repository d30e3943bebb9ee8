// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient, tile by tile: scores stay in the cache. Online
// softmax as in FlashAttention-2 (Dao, 2023).
#pragma once

#include "runtime/device/cpu/Half.h"

namespace dlc {

// One head of one sample.
struct AttentionGeometry {
  int64_t queries, keys, depth, valueDepth;
  int64_t stride;      // of rows of q, k and their gradients, in elements
  int64_t valueStride; // of v and its gradient
  int64_t outStride;   // of y and its gradient
  float scale;
  bool causal; // query i attends to keys 0..i
};

// A mask that is added to the scores: element (query, key) is at query *
// ofQuery + key * ofKey; strides of dimensions of size 1 are 0.
struct AttentionMask {
  const float *data = nullptr; // null: none
  int64_t ofQuery = 0, ofKey = 0;
};

// For elements of type T: float, Bf16 or F16.
template <class T> struct AttentionLoops {
  // Number of queries per block.
  int64_t rows;
  // Floats of scratch that one thread needs, aligned to 64 bytes.
  int64_t (*floats)(const AttentionGeometry &g);
  int64_t (*backwardFloats)(const AttentionGeometry &g);
  // Computes y for queries [begin, end), where begin is a multiple of `rows`,
  // and the log-sum-exp of their rows of scores.
  void (*forward)(const AttentionGeometry &g, const AttentionMask &mask,
                  const T *q, const T *k, const T *v, T *y, float *lse,
                  int64_t begin, int64_t end, float *memory);
  void (*backward)(const AttentionGeometry &g, const AttentionMask &mask,
                   const T *dy, const T *q, const T *k, const T *v, const T *y,
                   const float *lse, T *dq, T *dk, T *dv, float *memory);
};

// The fastest loops for this CPU.
template <class T> const AttentionLoops<T> &attentionLoops();

} // namespace dlc

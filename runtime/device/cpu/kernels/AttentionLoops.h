// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient, tile by tile: scores are in the cache, never in
// memory. Online softmax as in FlashAttention-2 (Dao, 2023).
#pragma once

#include "runtime/device/cpu/Half.h"

namespace dlc {

// One head of one sample.
struct AttentionGeometry {
  int64_t queries, keys, depth, valueDepth;
  int64_t stride;      // elements from row to row of q, k and their gradients
  int64_t valueStride; // of v and its gradient
  int64_t outStride;   // of y and its gradient
  float scale;
  bool causal; // query i sees keys 0..i
};

// Added to the scores: element (query, key) is at query * ofQuery + key *
// ofKey; strides of dimensions of one element are 0.
struct AttentionMask {
  const float *data = nullptr; // null: none
  int64_t ofQuery = 0, ofKey = 0;
};

// Of elements of T: float, Bf16 or F16.
template <class T> struct AttentionLoops {
  // Queries that are computed at once.
  int64_t rows;
  // That the loops need in memory of one thread, aligned to 64 bytes.
  int64_t (*floats)(const AttentionGeometry &g);
  int64_t (*backwardFloats)(const AttentionGeometry &g);
  // Queries [begin, end), begin a multiple of `rows`: y, and the log-sum-exp of
  // their rows of scores.
  void (*forward)(const AttentionGeometry &g, const AttentionMask &mask,
                  const T *q, const T *k, const T *v, T *y, float *lse,
                  int64_t begin, int64_t end, float *memory);
  void (*backward)(const AttentionGeometry &g, const AttentionMask &mask,
                   const T *dy, const T *q, const T *k, const T *v, const T *y,
                   const float *lse, T *dq, T *dk, T *dv, float *memory);
};

// The fastest for this CPU.
template <class T> const AttentionLoops<T> &attentionLoops();

} // namespace dlc

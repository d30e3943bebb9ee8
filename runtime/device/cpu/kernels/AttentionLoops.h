// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient, tile by tile: scores are in the cache, never in
// memory. Online softmax as in FlashAttention-2 (Dao, 2023).
#pragma once

#include "runtime/device/cpu/Half.h"

namespace dlc {

// Queries that are computed at once.
constexpr int64_t kAttentionRows = 48;

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

// Floats that the loops need in memory of one thread, aligned to 64 bytes.
int64_t attentionFloats(const AttentionGeometry &g);
int64_t attentionBackwardFloats(const AttentionGeometry &g);

#define DLC_ATTENTION_LOOPS(T)                                                 \
  /* Queries [begin, end), begin a multiple of kAttentionRows: y, and the      \
   * log-sum-exp of their rows of scores. */                                   \
  void attention(const AttentionGeometry &g, const AttentionMask &mask,        \
                 const T *q, const T *k, const T *v, T *y, float *lse,         \
                 int64_t begin, int64_t end, float *memory);                   \
  void attentionBackward(const AttentionGeometry &g,                           \
                         const AttentionMask &mask, const T *dy, const T *q,   \
                         const T *k, const T *v, const T *y, const float *lse, \
                         T *dq, T *dk, T *dv, float *memory);
DLC_ATTENTION_LOOPS(float)
DLC_ATTENTION_LOOPS(Bf16)
DLC_ATTENTION_LOOPS(F16)
#undef DLC_ATTENTION_LOOPS

} // namespace dlc

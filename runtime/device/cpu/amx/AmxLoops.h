// SPDX-License-Identifier: Apache-2.0
// Loops on the tiles of Intel's AMX: registers of 16 rows of 64 bytes, and
// products of bf16 whose sums are f32. A tile on the left has 32 terms of each
// of 16 rows; one on the right has 16 pairs of terms, in each pair that of 16
// columns side by side. All tiles in memory are whole, 1024 bytes, one after
// the other, so that loads are of lines and in order.
//
// The terms are pixels, rows and columns are channels. Channels go in blocks of
// 32, two tiles, in the order in which two registers are interleaved: row r of
// tile t is channel 8 * (r / 4) + 4 * t + r % 4 of the block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dlc {

constexpr int64_t kAmxTerms = 32, kAmxBytes = 1024;
constexpr int64_t kAmxFloats = kAmxBytes / sizeof(float);
constexpr int64_t kAmxBlock = 32; // channels
constexpr int64_t kAmxTaps = 49;  // of a filter

// Of 32 x 32 sums: `steps` products of two tiles on the left and two on the
// right, each a stride of bytes behind the first.
struct AmxProduct {
  const std::byte *left, *right;
  int64_t leftStride, rightStride, steps;
  float *sums; // four tiles, one after the other
  bool adds;   // to what `sums` holds
};

// A block of outputs by a block of inputs of filters' gradients [outputs,
// inputs, taps] in bf16: the sums, in this order, of `count` arrays of four
// tiles for each tap, `stride` floats apart.
struct AmxFilters {
  const float *sums;
  int64_t count, stride, taps;
  // Of each element of 32 inputs' taps, which of the 32 sums of its tap it is;
  // of each 32 elements and each tap, which are that tap's.
  const uint16_t *elements;
  const uint32_t *masks;
  uint16_t *to;
  int64_t outputStride;
};

struct AmxLoops {
  // A thread calls multiply between these.
  void (*enter)();
  void (*leave)();
  // Tiles of all channels, a multiple of 32, of 32 pixels; `stride` bytes from
  // a tile of 16 channels to the next.
  void (*packLeft)(const uint16_t *const *pixels, int64_t channels,
                   std::byte *to, int64_t stride);
  void (*packRight)(const uint16_t *const *pixels, int64_t channels,
                    std::byte *to, int64_t stride);
  void (*multiply)(const AmxProduct &product);
  void (*write)(const AmxFilters &filters);
};

// Null where the CPU lacks AMX for bf16 or AVX-512, or the system does not let
// this process use the tiles.
const AmxLoops *amxLoops();

} // namespace dlc

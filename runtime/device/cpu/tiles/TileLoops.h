// SPDX-License-Identifier: Apache-2.0
// Products of bf16 whose sums are f32, of tiles of 16 rows of 64 bytes: what
// the registers of Intel's AMX hold, or what the instructions of AVX-512 for
// bf16 read from a cache. A tile on the left has 32 terms of each of 16 rows;
// one on the right has 16 pairs of terms, in each pair that of 16 columns side
// by side. All tiles in memory are whole, 1024 bytes, one after the other, so
// that loads are of lines and in order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dlc {

constexpr int64_t kTileTerms = 32, kTileBytes = 1024;
constexpr int64_t kTileFloats = kTileBytes / sizeof(float);
constexpr int64_t kTileBlock = 32; // rows or columns of two tiles
constexpr int64_t kTileTaps = 49;  // of a filter
enum class TileSide { Left, Right };

// In the four tiles of a block's sums, where the first 16 of a row are; the
// others are a tile behind.
constexpr int64_t tileRow(int64_t row) {
  return row / 16 * 2 * kTileFloats + row % 16 * 16;
}

// Of 32 x 32 sums, tiles row by row: `steps` products of two tiles on the left
// and two on the right, each a stride of bytes behind the first.
struct TileProduct {
  const std::byte *left, *right;
  int64_t leftStride, rightStride, steps;
  float *sums; // four tiles, one after the other
  bool adds;   // to what `sums` holds
  // Vectors leave out the sums of other rows, of the other half if all columns
  // are in the first, and what is behind the last step's pairs of terms.
  int64_t rows = kTileBlock, columns = kTileBlock, lastPairs = kTileTerms / 2;
};

// A block of outputs of filters' gradients in bf16: the sums, in this order, of
// `count` arrays of four tiles for each tap, `stride` floats apart.
struct TileFilters {
  const float *sums;
  int64_t count, stride, taps;
  int64_t elements; // of an output
  // Of each element, rounded up to 32, its column of its tap's sums; of each 32
  // elements and each tap, which are that tap's.
  const uint16_t *inputs;
  const uint32_t *masks;
  uint16_t *to;
  int64_t outputStride;
};

// Of a matrix in bf16: the sums, rounded.
struct TileBlock {
  const float *sums;
  uint16_t *to;
  int64_t stride;        // elements from row to row
  int64_t rows, columns; // at most 32
};

struct TileLoops {
  bool isAmx; // else vectors
  // A thread calls multiply between these.
  void (*enter)();
  void (*leave)();
  // Tiles from 32 lines, a term each, of `count` rows or columns, rounded up to
  // 32 by zeros; `stride` bytes from a tile to the next 16.
  void (*packTerms)(TileSide side, const uint16_t *const *lines, int64_t count,
                    std::byte *to, int64_t stride);
  // Tiles from 16 lines, a row or column each, of `terms`, rounded up to 32 by
  // zeros, one after the other.
  void (*packLines)(TileSide side, const uint16_t *const *lines, int64_t terms,
                    std::byte *to);
  void (*multiply)(const TileProduct &product);
  void (*writeFilters)(const TileFilters &filters);
  void (*writeBlock)(const TileBlock &block);
};

// By AMX, else by vectors; null where the CPU lacks AVX-512 for bf16. Nothing
// is used that oneDNN may not use (ONEDNN_MAX_CPU_ISA), nor AMX where the
// system does not let this process.
const TileLoops *tileLoops();

} // namespace dlc

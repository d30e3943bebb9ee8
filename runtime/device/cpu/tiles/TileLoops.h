// SPDX-License-Identifier: Apache-2.0
// Products of bf16 with f32 sums, by tiles of 16 rows of 64 bytes: those of
// Intel's AMX registers, or cached data for the bf16 instructions of AVX-512. A
// left tile holds 32 terms of each of 16 rows; a right tile holds 16 pairs of
// terms, with the pairs of 16 columns adjacent. Tiles in memory are whole, 1024
// bytes, and consecutive, so that loads are of whole cache lines and in order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dlc {

constexpr int64_t kTileTerms = 32, kTileBytes = 1024;
constexpr int64_t kTileFloats = kTileBytes / sizeof(float);
constexpr int64_t kTileBlock = 32; // rows or columns of two tiles
constexpr int64_t kTileTaps = 49;  // per filter
enum class TileSide { Left, Right };

// Offset of the first 16 sums of a row in the four tiles of a block's sums; the
// other 16 are one tile further.
constexpr int64_t tileRow(int64_t row) {
  return row / 16 * 2 * kTileFloats + row % 16 * 16;
}

// Updates 32 x 32 sums, stored as tiles row by row, by `steps` products of two
// left and two right tiles; the tiles of consecutive steps are a stride in
// bytes apart.
struct TileProduct {
  const std::byte *left, *right;
  int64_t leftStride, rightStride, steps;
  float *sums; // four consecutive tiles
  bool adds;   // to `sums`; else replaces them
  // Loops with vectors skip sums of further rows, of the second half if all
  // columns are in the first, and pairs after the last of the final step.
  int64_t rows = kTileBlock, columns = kTileBlock, lastPairs = kTileTerms / 2;
};

// Writes a block of outputs of filter gradients in bf16: for each tap, the sums
// of `count` arrays of four tiles, in order, `stride` floats apart.
struct TileFilters {
  const float *sums;
  int64_t count, stride, taps;
  int64_t elements; // per output
  // inputs: for each element, rounded up to 32, its column in the sums of its
  // tap. masks: for each 32 elements and each tap, the elements of that tap.
  const uint16_t *inputs;
  const uint32_t *masks;
  uint16_t *to;
  int64_t outputStride;
};

// Writes the sums, rounded, to a block of a bf16 matrix.
struct TileBlock {
  const float *sums;
  uint16_t *to;
  int64_t stride;        // elements between rows
  int64_t rows, columns; // at most 32
};

struct TileLoops {
  bool isAmx; // else AVX-512 vectors
  // A thread must call multiply between enter and leave.
  void (*enter)();
  void (*leave)();
  // Packs tiles from 32 lines, each of which is one term of `count` rows or
  // columns, padded with zeros to 32; tiles of consecutive 16 rows or columns
  // are `stride` bytes apart.
  void (*packTerms)(TileSide side, const uint16_t *const *lines, int64_t count,
                    std::byte *to, int64_t stride);
  // Packs consecutive tiles from 16 lines, each of which is a row or column of
  // `terms`, padded with zeros to 32.
  void (*packLines)(TileSide side, const uint16_t *const *lines, int64_t terms,
                    std::byte *to);
  void (*multiply)(const TileProduct &product);
  void (*writeFilters)(const TileFilters &filters);
  void (*writeBlock)(const TileBlock &block);
};

// The loops for AMX, else for vectors; null if the CPU lacks AVX-512 for bf16.
// Features that oneDNN may not use (ONEDNN_MAX_CPU_ISA), and AMX without
// permission of the system, are not used.
const TileLoops *tileLoops();

} // namespace dlc

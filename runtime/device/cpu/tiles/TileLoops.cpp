// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/tiles/TileLoops.h"
#include "runtime/device/cpu/Half.h"
#include "runtime/device/cpu/Onednn.h"

#if defined(__x86_64__) && defined(__linux__)

// GCC 12 warns of values that its own header leaves undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <algorithm>
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace dlc {
namespace {

bool hasAmx() {
  // arch_prctl(2): a process must request tiles before their first use.
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  constexpr unsigned kBf16 = 1U << 22, kTiles = 1U << 24; // of EDX
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBf16) &&
         (d & kTiles) &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512bf16,amx-tile,amx-bf16")

struct alignas(64) Configuration {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t bytesOfRow[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Configuration kAllTiles;

// A mask of those of 32 elements that are below `count`.
inline uint32_t first(int64_t count) {
  return count >= 32 ? ~0U : (1U << count) - 1;
}

constexpr int kLanes = 16, kBlockRows = 12;
#include "runtime/device/cpu/kernels/Lanes.h"

void enter() { _tile_loadconfig(&kAllTiles); }
void leave() { _tile_release(); }

// 16 rows of 16 pairs; transposed, columns become rows.
DLC_INLINE void storeTile(__m512i (&rows)[16], std::byte *to,
                          bool isTransposed) {
  if (isTransposed)
    transpose(reinterpret_cast<Lanes(&)[kLanes]>(rows));
#pragma GCC unroll 16
  for (int row = 0; row < 16; ++row)
    _mm512_store_si512(to + row * 64, rows[row]);
}

// The address need not be valid.
DLC_INLINE void prefetch(const uint16_t *from, int64_t bytes) {
  _mm_prefetch(reinterpret_cast<const char *>(uintptr_t(from) + bytes),
               _MM_HINT_T0);
}

// Pairs of lines are the rows of a right tile.
void packTerms(TileSide side, const uint16_t *const *lines, int64_t count,
               std::byte *to, int64_t stride) {
  // The next 32 lines usually follow these.
  const int64_t ahead = kTileTerms * count * int64_t(sizeof(uint16_t));
  // Quarters in the order in which the halves of a block unpack.
  const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
  const bool isLeft = side == TileSide::Left;
  for (int64_t at = 0; at < count; at += kTileBlock, to += 2 * stride) {
    const uint32_t mask = first(count - at);
    __m512i low[16], high[16];
#pragma GCC unroll 16
    for (int pair = 0; pair < 16; ++pair) {
      prefetch(lines[2 * pair] + at, ahead);
      prefetch(lines[2 * pair + 1] + at, ahead);
      const __m512i even = _mm512_permutexvar_epi64(
                        order,
                        _mm512_maskz_loadu_epi16(mask, lines[2 * pair] + at)),
                    odd = _mm512_permutexvar_epi64(
                        order, _mm512_maskz_loadu_epi16(
                                   mask, lines[2 * pair + 1] + at));
      low[pair] = _mm512_unpacklo_epi16(even, odd);
      high[pair] = _mm512_unpackhi_epi16(even, odd);
    }
    storeTile(low, to, isLeft);
    storeTile(high, to + stride, isLeft);
  }
}

// Lines are the rows of a left tile.
void packLines(TileSide side, const uint16_t *const *lines, int64_t terms,
               std::byte *to) {
  for (int64_t at = 0; at < terms; at += kTileTerms, to += kTileBytes) {
    const uint32_t mask = first(terms - at);
    __m512i rows[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      rows[i] = _mm512_maskz_loadu_epi16(mask, lines[i] + at);
    storeTile(rows, to, side == TileSide::Right);
  }
}

void multiply(const TileProduct &p) {
  constexpr int kRow = 64; // bytes
  if (p.adds) {
    _tile_loadd(0, p.sums, kRow);
    _tile_loadd(1, p.sums + kTileFloats, kRow);
    _tile_loadd(2, p.sums + 2 * kTileFloats, kRow);
    _tile_loadd(3, p.sums + 3 * kTileFloats, kRow);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::byte *left = p.left, *right = p.right;
  for (int64_t step = 0; step < p.steps; ++step) {
    _tile_loadd(4, left, kRow);
    _tile_loadd(6, right, kRow);
    _tile_loadd(7, right + p.rightStride, kRow);
    _tile_loadd(5, left + p.leftStride, kRow);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    left += kTileBytes, right += kTileBytes;
  }
  _tile_stored(0, p.sums, kRow);
  _tile_stored(1, p.sums + kTileFloats, kRow);
  _tile_stored(2, p.sums + 2 * kTileFloats, kRow);
  _tile_stored(3, p.sums + 3 * kTileFloats, kRow);
}

// This many sums hide the latency of an instruction; a left pair is loaded once
// for both vectors of columns.
template <int kRows, int kHalves>
DLC_INLINE void multiplyRows(const TileProduct &p, int64_t row) {
  float *const sums = p.sums + tileRow(row);
  const std::byte *left = p.left + row / 16 * p.leftStride + row % 16 * 64,
                  *right = p.right;
  __m512 to[kRows][kHalves] = {};
  if (p.adds)
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      for (int half = 0; half < kHalves; ++half)
        to[i][half] = _mm512_load_ps(sums + i * 16 + half * kTileFloats);
  for (int64_t step = 0; step < p.steps; ++step) {
    const int64_t pairs = step + 1 < p.steps ? kTileTerms / 2 : p.lastPairs;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      __m512bh columns[kHalves];
      for (int half = 0; half < kHalves; ++half)
        columns[half] = (__m512bh)_mm512_load_si512(
            right + half * p.rightStride + pair * 64);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        int32_t terms;
        __builtin_memcpy(&terms, left + i * 64 + pair * 4, 4);
        const __m512bh both = (__m512bh)_mm512_set1_epi32(terms);
        for (int half = 0; half < kHalves; ++half)
          to[i][half] = _mm512_dpbf16_ps(to[i][half], both, columns[half]);
      }
    }
    left += kTileBytes, right += kTileBytes;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
    for (int half = 0; half < kHalves; ++half)
      _mm512_store_ps(sums + i * 16 + half * kTileFloats, to[i][half]);
}

void multiplyVectors(const TileProduct &p) {
  if (p.columns > 16)
    for (int64_t row = 0; row < p.rows; row += 8)
      multiplyRows<8, 2>(p, row);
  else
    for (int64_t row = 0; row < p.rows; row += 16)
      multiplyRows<16, 1>(p, row);
}

// A row of a tap's sums is a vector of bf16; each vector of the result selects
// its elements from those of all taps.
void writeFilters(const TileFilters &f) {
  alignas(64) uint16_t rows[kTileTaps][kTileBlock];
  for (int64_t output = 0; output < kTileBlock; ++output) {
    for (int64_t tap = 0; tap < f.taps; ++tap) {
      const float *from = f.sums + tap * 4 * kTileFloats + tileRow(output);
      __m512 low = _mm512_load_ps(from),
             high = _mm512_load_ps(from + kTileFloats);
      for (int64_t i = 1; i < f.count; ++i) {
        from += f.stride;
        low = _mm512_add_ps(low, _mm512_load_ps(from));
        high = _mm512_add_ps(high, _mm512_load_ps(from + kTileFloats));
      }
      const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
      _mm512_store_si512(rows[tap], reinterpret_cast<const __m512i &>(both));
    }
    for (int64_t vector = 0; vector * kTileBlock < f.elements; ++vector) {
      const __m512i inputs = _mm512_loadu_si512(f.inputs + vector * kTileBlock);
      __m512i made = _mm512_setzero_si512();
      for (int64_t tap = 0; tap < f.taps; ++tap)
        made =
            _mm512_mask_permutexvar_epi16(made, f.masks[vector * f.taps + tap],
                                          inputs, _mm512_load_si512(rows[tap]));
      _mm512_mask_storeu_epi16(f.to + output * f.outputStride +
                                   vector * kTileBlock,
                               first(f.elements - vector * kTileBlock), made);
    }
  }
}

void writeBlock(const TileBlock &b) {
  for (int64_t row = 0; row < b.rows; ++row) {
    const float *from = b.sums + tileRow(row);
    const __m512bh both = _mm512_cvtne2ps_pbh(
        _mm512_load_ps(from + kTileFloats), _mm512_load_ps(from));
    _mm512_mask_storeu_epi16(b.to + row * b.stride, first(b.columns),
                             reinterpret_cast<const __m512i &>(both));
  }
}

#pragma GCC pop_options

void nothing() {}

constexpr TileLoops kAmx = {true,      enter,    leave,        packTerms,
                            packLines, multiply, writeFilters, writeBlock};
constexpr TileLoops kVectors = {false,        nothing,   nothing,
                                packTerms,    packLines, multiplyVectors,
                                writeFilters, writeBlock};

} // namespace

const TileLoops *tileLoops() {
  static const TileLoops *const loops =
      !onednnHasBf16() || !__builtin_cpu_supports("avx512bf16") ? nullptr
      : onednnHasAmx() && hasAmx()                              ? &kAmx
                                                                : &kVectors;
  return loops;
}

} // namespace dlc

#else

namespace dlc {

const TileLoops *tileLoops() { return nullptr; }

} // namespace dlc

#endif

// SPDX-License-Identifier: Apache-2.0
// The loops of FilterLoops.h. FilterLoops.cpp includes this for each kind of
// CPU (Levels.h).
#include "runtime/device/cpu/kernels/Lanes.h"

using Words = uint32_t __attribute__((vector_size(4 * kLanes)));
using Shorts = uint16_t __attribute__((vector_size(2 * kLanes)));

DLC_INLINE void readWords(const uint32_t *from, Words &to) {
  __builtin_memcpy(&to, from, sizeof to);
}
DLC_INLINE void readWords(const uint16_t *from, Words &to) {
  Shorts shorts;
  __builtin_memcpy(&shorts, from, sizeof shorts);
  to = __builtin_convertvector(shorts, Words);
}
DLC_INLINE void writeWords(const Words &from, uint32_t *to) {
  __builtin_memcpy(to, &from, sizeof from);
}
DLC_INLINE void writeWords(const Words &from, uint16_t *to) {
  const Shorts shorts = __builtin_convertvector(from, Shorts);
  __builtin_memcpy(to, &shorts, sizeof shorts);
}

// All taps of kLanes inputs of kLanes outputs: a row per input and tap.
struct FilterSquare {
  Lanes rows[kMostFilterTaps * kLanes];
};

// Calls fn(row of a square, offset in the other layout) for every Step-th
// input.
template <int Step, class F>
DLC_INLINE void forColumns(const FilterOffsets &f, int64_t output,
                           int64_t input, F &&fn) {
  for (int64_t tap = 0; tap < f.taps; ++tap)
    for (int64_t i = 0; i < kLanes; i += Step)
      fn(i * f.taps + tap,
         f.ofOutput[output] + f.ofInput[input + i] + f.ofTap[tap]);
}

template <class E>
void readSquare(const FilterOffsets &f, const E *from, FilterSquare &to) {
  const int64_t output = f.inputs * f.taps, ahead = 2 * kLanes * f.taps;
  for (int64_t at = 0; at < kLanes * f.taps; at += kLanes) {
    Lanes x[kLanes];
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) {
      Words words;
      prefetchRow<false>(from + l * output + at, ahead, kLanes);
      readWords(from + l * output + at, words);
      x[l] = Lanes(words);
    }
    transpose(x);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l)
      to.rows[at + l] = x[l];
  }
}

template <class E>
void writeSquare(const FilterOffsets &f, const FilterSquare &from, E *to) {
  const int64_t output = f.inputs * f.taps;
  for (int64_t at = 0; at < kLanes * f.taps; at += kLanes) {
    Lanes x[kLanes];
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l)
      x[l] = from.rows[at + l];
    transpose(x);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l)
      writeWords(Words(x[l]), to + l * output + at);
  }
}

template <class E>
DLC_INLINE E *squareAt(const FilterOffsets &f, void *plain, int64_t output,
                       int64_t input) {
  return static_cast<E *>(plain) + (output * f.inputs + input) * f.taps;
}

template <class E, bool kPairs>
void packSquare(const FilterOffsets &f, void *plain, void *other,
                int64_t output, int64_t input) {
  FilterSquare square;
  if (output < f.outputs && input < f.inputs)
    readSquare(f, squareAt<E>(f, plain, output, input), square);
  else
    __builtin_memset(&square, 0, sizeof square);
  E *const to = static_cast<E *>(other);
  forColumns<kPairs ? 2 : 1>(f, output, input, [&](int64_t at, int64_t offset) {
    const Words even = Words(square.rows[at]);
    if constexpr (kPairs)
      writeWords(even | Words(square.rows[at + f.taps]) << 16,
                 reinterpret_cast<uint32_t *>(to + offset));
    else
      writeWords(even, to + offset);
  });
}

template <class E, bool kPairs>
void unpackSquare(const FilterOffsets &f, void *plain, void *other,
                  int64_t output, int64_t input) {
  if (output >= f.outputs || input >= f.inputs)
    return;
  FilterSquare square;
  const E *const from = static_cast<const E *>(other);
  forColumns<kPairs ? 2 : 1>(f, output, input, [&](int64_t at, int64_t offset) {
    Words words;
    if constexpr (kPairs) {
      readWords(reinterpret_cast<const uint32_t *>(from + offset), words);
      square.rows[at + f.taps] = Lanes(words >> 16);
      words &= 0xffff;
    } else {
      readWords(from + offset, words);
    }
    square.rows[at] = Lanes(words);
  });
  writeSquare(f, square, squareAt<E>(f, plain, output, input));
}

void packInputPairs(const FilterOffsets &f, void *plain, void *other,
                    int64_t output, int64_t input) {
  const bool isInside = output < f.outputs && input < f.inputs;
  const uint16_t *from = squareAt<uint16_t>(f, plain, output, input);
  uint16_t *const to = static_cast<uint16_t *>(other) + f.ofInput[input];
#pragma GCC unroll 16
  for (int64_t o = 0; o < kLanes; o += 2, from += 2 * f.inputs) {
    Words even{}, odd{};
    if (isInside) {
      prefetchRow<false>(from, kLanes * f.inputs, kLanes);
      readWords(from, even);
      readWords(from + f.inputs, odd);
    }
    writeWords(even | odd << 16,
               reinterpret_cast<uint32_t *>(to + f.ofOutput[output + o]));
  }
}

constexpr FilterLoops kFilterLoops = {kLanes,
                                      packSquare<uint32_t, false>,
                                      unpackSquare<uint32_t, false>,
                                      packSquare<uint16_t, false>,
                                      unpackSquare<uint16_t, false>,
                                      packSquare<uint16_t, true>,
                                      unpackSquare<uint16_t, true>,
                                      packInputPairs};

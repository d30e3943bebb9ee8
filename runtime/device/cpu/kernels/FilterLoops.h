// SPDX-License-Identifier: Apache-2.0
// Copies filters between [outputs, inputs, taps] and layouts in which the
// elements of some outputs are adjacent: by transposing squares in registers.
#pragma once

#include <cstdint>

namespace dlc {

// Where the other layout has its elements: (o, i, tap) is at ofOutput[o] +
// ofInput[i] + ofTap[tap]. Its further outputs and inputs are zeros.
struct FilterOffsets {
  int64_t outputs, inputs, taps;
  const int64_t *ofOutput, *ofInput, *ofTap;
};

constexpr int64_t kMostFilterTaps = 25;

// Each copies the elements of `lanes` outputs from `output` on and `lanes`
// inputs from `input` on; both are multiples of `lanes`, and there are at most
// kMostFilterTaps taps.
struct FilterLoops {
  using Copy = void(const FilterOffsets &offsets, void *plain, void *other,
                    int64_t output, int64_t input);
  int64_t lanes;
  // The elements of `lanes` outputs are adjacent: of 32 bits; of 16 bits; of 16
  // bits in pairs of inputs.
  Copy *pack, *unpack, *packHalves, *unpackHalves, *packPairs, *unpackPairs;
  // Those of `lanes` inputs, of 16 bits in pairs of outputs, with one tap.
  Copy *packInputs;
};

// The fastest loops for this CPU.
const FilterLoops &filterCopies();

} // namespace dlc

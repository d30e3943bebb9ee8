// SPDX-License-Identifier: Apache-2.0
// Selects the next token by its logits.
#pragma once

#include "runtime/base/options/OptionTable.h"

#include <cstdint>
#include <optional>
#include <span>

namespace dlc {

struct SamplerOptions {
  // Unset or 0: greedy, the first of the largest logits.
  std::optional<double> temperature;
  int64_t topK = 0; // sample from the largest logits; 0: all
  double topP = 1;  // then from the fewest with this probability mass
  uint64_t seed = 0;

  // Adds rows "SECTION.temperature" etc.
  void addTo(OptionTable &table, const std::string &section);
};

// Draws a token with probability softmax(logits / temperature) from those left
// by top-k, then top-p (Holtzman et al. 2020, arXiv:1904.09751).
//
// The random number is (a * 2^32 + b) >> 11 times 2^-53, with the first two
// words a, b of Philox4x32-10 (Philox.h), whose key is the seed and whose
// counter is the token's position in the generated text, from 0. It selects a
// token by cumulative probabilities in f64: if top-k or top-p removes tokens,
// sorted from the largest to the smallest, ties by token number; else in the
// order of tokens. So equal seeds and logits give equal tokens.
//
// Code::Diverged if a logit is NaN, or the largest is not finite.
Result<uint32_t> chooseToken(std::span<const float> logits, uint64_t place,
                             const SamplerOptions &options);

} // namespace dlc

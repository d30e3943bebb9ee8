// SPDX-License-Identifier: Apache-2.0
// Which token comes next, by the logits of all of them.
#pragma once

#include "runtime/base/options/OptionTable.h"

#include <cstdint>
#include <optional>
#include <span>

namespace dlc {

struct SamplerOptions {
  // None or 0: the largest logit's token, the first of equal ones.
  std::optional<double> temperature;
  int64_t topK = 0; // of so many of the largest; 0: of all
  double topP = 1;  // then of the fewest that have this share together
  uint64_t seed = 0;

  // As "SECTION.temperature" and so on.
  void addTo(OptionTable &table, const std::string &section);
};

// A token is drawn with the probability softmax(logits / temperature) among
// those that top-k, then top-p (Holtzman et al. 2020, arXiv:1904.09751) leave.
//
// The number is (a * 2^32 + b) >> 11 times 2^-53, of the first two words a, b
// of Philox4x32-10 (Philox.h) whose key is the seed and whose counter is the
// place of the token in what is generated, from 0. It falls into the sums of
// probabilities, in doubles: from the largest to the smallest, of equal ones
// the first token first, where top-k or top-p leaves some out; else in the
// order of tokens. So the same seed and logits give the same tokens.
//
// An error (Diverged) if a logit is NaN, or the largest is not finite.
Result<uint32_t> chooseToken(std::span<const float> logits, uint64_t place,
                             const SamplerOptions &options);

} // namespace dlc

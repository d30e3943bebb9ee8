// SPDX-License-Identifier: Apache-2.0
// Attention as models have it, and at the edges of what cuDNN takes.
#pragma once

#include "test/support/PlainAttention.h"

#include <cmath>
#include <string>

namespace dlc::test {

struct AttentionCase {
  std::string name;
  AttentionShape shape;
};

inline std::vector<AttentionCase> attentionCases() {
  using Dims = std::array<int64_t, 4>;
  std::vector<AttentionCase> cases;
  const auto add = [&](const char *name, Dims sizes, int64_t depth, bool causal,
                       bool lengthFirst, Dims mask = {}) {
    const auto [batch, heads, queries, keys] = sizes;
    cases.push_back({name,
                     {batch, heads, queries, keys, depth, depth, causal,
                      lengthFirst, 1 / std::sqrt(double(depth)), mask}});
  };
  add("depth32", {2, 3, 64, 64}, 32, false, false);
  add("depth64", {2, 2, 64, 64}, 64, false, true);
  add("depth128", {1, 2, 128, 128}, 128, false, false);
  add("depth8", {1, 1, 64, 64}, 8, false, false);
  add("depth40", {1, 2, 64, 96}, 40, false, true);
  add("depth96Causal", {1, 2, 96, 96}, 96, true, true);
  add("oddLengths", {2, 2, 37, 53}, 64, false, false);
  add("oddCausal", {2, 3, 67, 67}, 32, true, true);
  add("patches", {1, 1, 197, 197}, 64, false, false);
  add("manyTiles", {1, 1, 300, 300}, 64, true, false);
  add("moreKeysCausal", {1, 2, 40, 129}, 64, true, false);
  add("moreQueriesCausal", {1, 2, 129, 40}, 64, true, true);
  add("twoQueries", {2, 2, 2, 70}, 64, false, false);
  add("mask", {2, 2, 64, 64}, 64, false, false, {2, 1, 64, 64});
  add("maskOfHeads", {2, 3, 64, 128}, 32, false, true, {1, 3, 64, 128});
  add("maskOfAll", {2, 2, 64, 64}, 128, false, false, {2, 2, 64, 64});
  add("maskOddLengths", {2, 2, 37, 53}, 64, false, true, {1, 1, 37, 53});
  add("maskCausal", {2, 2, 65, 65}, 64, true, false, {2, 1, 65, 65});
  return cases;
}

} // namespace dlc::test

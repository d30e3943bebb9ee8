// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc-compile/quantize/Entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace dlc::tool {
namespace {

constexpr size_t kLevels = 128, kStep = 16;
constexpr double kMostBeyond = 0.01;

// KL(P || Q), or infinity where Q lacks what P has; `beyond` were cut off.
double divergence(std::span<const double> bins, double beyond) {
  const double all = std::reduce(bins.begin(), bins.end());
  double sum = 0;
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t first = level * bins.size() / kLevels,
                 end = (level + 1) * bins.size() / kLevels;
    double held = 0;
    size_t holders = 0;
    for (size_t i = first; i < end; ++i) {
      held += bins[i];
      holders += bins[i] > 0;
    }
    for (size_t i = first; i < end; ++i) {
      const double more = i + 1 == bins.size() ? beyond : 0,
                   p = (bins[i] + more) / (all + beyond);
      if (p == 0)
        continue;
      if (bins[i] == 0)
        return std::numeric_limits<double>::infinity();
      sum += p * std::log(p / (held / double(holders) / all));
    }
  }
  return sum;
}

} // namespace

size_t leastDivergent(std::span<const uint64_t> bins) {
  std::vector<double> counts(bins.begin(), bins.end());
  counts[0] = counts[1];
  const std::span all(counts);
  size_t best = all.size();
  double least = divergence(all, 0);
  const double most = kMostBeyond * std::reduce(all.begin(), all.end());
  double beyond = 0;
  for (size_t end = all.size(); end > kLevels;) {
    const size_t last = kLevels + (end - kLevels - 1) / kStep * kStep;
    beyond = std::accumulate(all.begin() + ptrdiff_t(last),
                             all.begin() + ptrdiff_t(end), beyond);
    end = last;
    if (beyond > most)
      break;
    if (const double found = divergence(all.first(end), beyond);
        found < least) {
      least = found;
      best = end;
    }
  }
  return best;
}

} // namespace dlc::tool

// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace dlc {

constexpr size_t kLongest = 200, kShortestBeginning = 3;

// Edits (insert, delete, replace, swap of neighbours) from a to b.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> d(a.size() + 1,
                                     std::vector<size_t>(b.size() + 1));
  std::iota(d[0].begin(), d[0].end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    d[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string nearest(const std::string &word,
                    const std::vector<std::string> &candidates) {
  std::string best;
  if (word.size() > kLongest) // nobody has typed that
    return best;
  const size_t limit = std::max<size_t>(2, word.size() / 3);
  // What begins with the word counts as one edit; the shortest is meant.
  const size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  const bool isBeginning = word.size() - dashes >= kShortestBeginning;
  std::pair<size_t, size_t> least(limit + 1, 0);
  for (const std::string &candidate : candidates) {
    size_t edits = distance(word, candidate);
    if (isBeginning && candidate.starts_with(word))
      edits = std::min<size_t>(edits, 1);
    if (const std::pair key(edits, candidate.size()); key < least) {
      least = key;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(const std::string &word,
                       const std::vector<std::string> &candidates) {
  std::string guess = nearest(word, candidates);
  return guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess);
}

} // namespace dlc

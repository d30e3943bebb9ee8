// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Nearest.h"
#include "runtime/base/Text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace dlc {

constexpr size_t kLongest = 200, kShortestBeginning = 3;

// Edit distance (insert, delete, replace, swap of neighbours) from a to b.
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

std::string nearest(const std::string &given,
                    const std::vector<std::string> &candidates) {
  std::string best;
  if (given.size() > kLongest) // too long for a typing error
    return best;
  const std::string word = lowerCase(given);
  const size_t limit = std::max<size_t>(2, word.size() / 3);
  // Candidates that begin with the word are preferred.
  const size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  const bool isBeginning = word.size() - dashes >= kShortestBeginning;
  std::pair<size_t, size_t> least(limit + 1, 0);
  for (const std::string &candidate : candidates) {
    const std::string small = lowerCase(candidate);
    const size_t edits =
        isBeginning && small.starts_with(word) ? 0 : distance(word, small);
    if (edits > least.first)
      continue;
    // Ties are broken by distance including case and the rest.
    if (const std::pair key(edits, distance(given, candidate)); key < least) {
      least = key;
      best = candidate;
    }
  }
  return best;
}

/// The candidate, with or without dashes, that is dlc's equivalent of another
/// tool's word.
static std::string knownAs(const std::string &word,
                           const std::vector<std::string> &candidates) {
  const auto has = [&](const std::string &name) {
    return std::ranges::count(candidates, name) > 0;
  };
  for (const std::string &candidate : candidates)
    if (!word.empty() && plainWord(candidate) == plainWord(word))
      return candidate;
  for (const std::string &ours : oursFor(word)) {
    const std::string first = ours.substr(0, ours.find_first_of(" ="));
    if (has(first))
      return ours;
    if (first.starts_with("--") && has(first.substr(2)))
      return first.substr(2);
  }
  return "";
}

std::string suggestion(const std::string &word,
                       const std::vector<std::string> &candidates) {
  for (const std::string &ours : oursFor(word))
    if (ours.starts_with("dlc"))
      return fmt::format("; `{}` does that", ours);
  std::string guess = knownAs(word, candidates);
  if (guess.empty())
    guess = nearest(word, candidates);
  // Its arguments may be another tool's, too.
  if (const size_t end = word.find_first_of(",(=:");
      guess.empty() && end != word.npos)
    return suggestion(word.substr(0, end), candidates);
  return guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess);
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/options/WeightNames.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

struct Prefix {
  std::string text; // "module."
  bool added = false;
  auto operator<=>(const Prefix &) const = default;
};

/// Calls `visit` with each module prefix of a name and the rest of it.
template <typename Visit> void forSplits(const std::string &name, Visit visit) {
  for (size_t dot = name.find('.'); dot != std::string::npos;
       dot = name.find('.', dot + 1))
    visit(name.substr(0, dot + 1), name.substr(dot + 1));
}

/// Number of matching names for each prefix.
std::map<Prefix, size_t>
countPrefixes(const std::set<std::string> &wanted,
              const std::map<std::string, Weight> &given) {
  std::map<Prefix, size_t> counts;
  for (const auto &[name, weight] : given)
    forSplits(name, [&](const std::string &prefix, const std::string &rest) {
      if (wanted.count(rest))
        ++counts[{prefix, false}];
    });
  for (const std::string &name : wanted)
    forSplits(name, [&](const std::string &prefix, const std::string &rest) {
      if (given.count(rest))
        ++counts[{prefix, true}];
    });
  return counts;
}

std::string renamed(const Prefix &prefix,
                    std::map<std::string, Weight> &given) {
  std::map<std::string, Weight> others;
  for (const auto &[name, weight] : given) {
    const bool has = name.starts_with(prefix.text);
    const std::string other = prefix.added ? prefix.text + name
                              : has        ? name.substr(prefix.text.size())
                                           : name;
    if (!others.emplace(other, weight).second)
      return ""; // ambiguous
  }
  given = std::move(others);
  return prefix.added
             ? fmt::format(", '{}' put before the file's names", prefix.text)
             : fmt::format(", '{}' left out of the file's names", prefix.text);
}

} // namespace

std::string alignPrefix(const std::set<std::string> &wanted,
                        std::map<std::string, Weight> &given) {
  const auto agreed = size_t(std::ranges::count_if(
      wanted, [&](auto &name) { return given.count(name) > 0; }));
  size_t most = agreed;
  std::vector<Prefix> best;
  for (const auto &[prefix, count] : countPrefixes(wanted, given)) {
    if (count > most)
      best.clear();
    if (count > agreed && count >= most) {
      best.push_back(prefix);
      most = count;
    }
  }
  if (best.size() > 1)
    return fmt::format(", several prefixes fit as well ('{}' and '{}'), none "
                       "was taken",
                       best[0].text, best[1].text);
  return best.empty() ? "" : renamed(best[0], given);
}

std::string withoutEnd(const std::string &name, std::string_view end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name;
}

} // namespace dlc::import

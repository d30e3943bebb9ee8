// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/launch/Variables.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/ParseNumber.h"

#include <cstdlib>
#include <fmt/format.h>

namespace dlc {
namespace {

// Removes and returns the start of `text` up to a comma outside of brackets.
std::string_view takePart(std::string_view &text) {
  int depth = 0;
  size_t end = 0;
  for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
    depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return part;
}

// "01-03" -> 01, 02, 03. False if it is no range or too long.
bool addRange(std::string_view range, size_t most,
              std::vector<std::string> &numbers) {
  const size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash),
                         high =
                             dash == range.npos ? low : range.substr(dash + 1);
  const auto first = asNumber<int>(low), last = asNumber<int>(high);
  if (!first || !last || *first < 0 || *last < *first ||
      static_cast<size_t>(*last - *first) >= most - numbers.size())
    return false;
  for (int64_t number = *first; number <= *last; ++number)
    numbers.push_back(fmt::format("{:0{}}", number, low.size()));
  return true;
}

// The hosts of "rack[1-2]node[1,3]x": all combinations of the brackets' values.
bool addHosts(std::string_view pattern, size_t most,
              std::vector<std::string> &hosts) {
  std::vector<std::string> made = {""};
  while (!pattern.empty()) {
    const size_t open = std::min(pattern.find('['), pattern.size());
    for (std::string &host : made)
      host += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty())
      break;
    const size_t close = pattern.find(']');
    if (close == pattern.npos || close < 2 || pattern[close - 1] == ',')
      return false;
    std::vector<std::string> numbers, next;
    std::string_view ranges = pattern.substr(1, close - 1);
    while (!ranges.empty())
      if (!addRange(takePart(ranges), most, numbers))
        return false;
    if (made.size() * numbers.size() > most)
      return false;
    for (const std::string &host : made)
      for (const std::string &number : numbers)
        next.push_back(host + number);
    made = std::move(next);
    pattern.remove_prefix(close + 1);
  }
  for (std::string &host : made)
    hosts.push_back(std::move(host));
  return hosts.size() <= most &&
         hosts.back().find_first_of("[] \t") == std::string::npos &&
         !hosts.back().empty();
}

} // namespace

Variable variable(const char *names) {
  std::string_view left = names;
  while (!left.empty()) {
    const size_t end = std::min(left.find('|'), left.size());
    const std::string name(left.substr(0, end));
    if (const char *text = std::getenv(name.c_str()))
      return {name, text};
    left.remove_prefix(std::min(left.size(), end + 1));
  }
  return {};
}

Result<std::optional<int>> numberOf(const Variable &variable, int least,
                                    int most) {
  if (!variable.isSet())
    return std::optional<int>();
  const auto value = asNumber<int>(variable.text);
  if (value && *value >= least && *value <= most)
    return value;
  return usageError("{} is '{}', expected a whole number of {}", variable.name,
                    printable(variable.text),
                    most == INT_MAX ? fmt::format("at least {}", least)
                                    : fmt::format("{} to {}", least, most));
}

Result<std::vector<std::string>>
expandNodes(const std::string &name, const std::string &list, size_t most) {
  std::vector<std::string> hosts;
  std::string_view left = list;
  bool good = !list.empty() && list.back() != ',';
  while (good && !left.empty())
    good = addHosts(takePart(left), most, hosts);
  if (good)
    return hosts;
  return usageError("{} is '{}', expected a list of at most {} hosts as in "
                    "node[01-03,7]",
                    name, printable(list), most);
}

std::optional<int> tasksOnNode(const std::string &text, int node) {
  std::string_view left = text;
  while (!left.empty()) {
    const std::string_view part = takePart(left);
    const size_t open = part.find("(x");
    const auto tasks = asNumber<int>(part.substr(0, open));
    std::optional<int> times = 1;
    if (open != part.npos && part.back() == ')')
      times = asNumber<int>(part.substr(open + 2, part.size() - open - 3));
    if (!tasks || !times || *tasks < 1 || *times < 1)
      return std::nullopt;
    if (node < *times)
      return tasks;
    node -= *times;
  }
  return std::nullopt;
}

} // namespace dlc

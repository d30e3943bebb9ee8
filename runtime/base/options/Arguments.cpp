// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Arguments.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace dlc {
namespace {

bool isOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string trimmed(const std::string &text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == text.npos
             ? ""
             : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

Result<Argument> parseArgument(const std::string &kind,
                               const std::string &text) {
  const size_t equals = text.find('=');
  Argument argument{kind, trimmed(text.substr(0, equals)), {"true"}};
  std::ranges::replace(argument.key, '-', '_');
  if (argument.key.empty() || !std::ranges::all_of(argument.key, isOfName))
    return usageError("{}: expected KEY=VALUE, found '{}'", kind, text);
  if (equals == text.npos)
    return argument;
  const std::string value = trimmed(text.substr(equals + 1));
  argument.words = {value};
  if (value.starts_with('[') && value.ends_with(']'))
    argument.words = splitAtCommas(value.substr(1, value.size() - 2));
  if (argument.words.empty())
    return usageError("{}: '{}' has no value", kind, text);
  for (std::string &word : argument.words)
    word = trimmed(word);
  return argument;
}

} // namespace

Result<std::vector<Argument>>
takeArguments(std::string &text, const std::vector<std::string> &kinds) {
  std::vector<Argument> all;
  for (size_t open = text.find('('); open != text.npos;
       open = text.find('(', open)) {
    size_t begin = open;
    while (begin > 0 && isOfName(text[begin - 1]))
      --begin;
    const std::string kind = text.substr(begin, open - begin);
    if (std::ranges::count(kinds, kind) == 0) {
      ++open;
      continue;
    }
    const size_t close = text.find(')', open);
    if (close == text.npos)
      return usageError("'{}' lacks its ')'", text.substr(begin));
    for (const std::string &word :
         splitAtCommas(text.substr(open + 1, close - open - 1))) {
      DLC_ASSIGN(all.emplace_back(), parseArgument(kind, word));
    }
    text.erase(open, close + 1 - open);
  }
  return all;
}

} // namespace dlc

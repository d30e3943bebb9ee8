// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Commas.h"

namespace dlc {

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  for (const char c : text) {
    if (c == ',' && depth <= 0) {
      words.push_back(std::move(word));
      word.clear();
      continue;
    }
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    word += c;
  }
  if (!word.empty())
    words.push_back(std::move(word));
  return words;
}

} // namespace dlc

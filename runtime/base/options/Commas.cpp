// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Commas.h"

#include <sstream>

namespace dlc {

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');)
    words.push_back(word);
  return words;
}

} // namespace dlc

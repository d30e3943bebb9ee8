// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/PixelNumbers.h"

namespace dlc {
namespace {

struct NamedNumbers {
  const char *name;
  std::vector<double> mean, std;
};

// timm's names of normalisation constants.
const std::vector<NamedNumbers> &normalisations() {
  static const std::vector<NamedNumbers> all = {
      {"imagenet", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
      {"inception", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
      {"clip",
       {0.48145466, 0.4578275, 0.40821073},
       {0.26862954, 0.26130258, 0.27577711}}};
  return all;
}

Result<std::vector<double>>
parseChannels(const Words &words, std::vector<double> NamedNumbers::*named,
              double low) {
  if (words.size() == 1)
    for (const NamedNumbers &n : normalisations())
      if (words[0] == n.name)
        return n.*named;
  auto numbers = parseFractions(words, low, kNoLimit);
  if (!numbers)
    return usageError("{}; or imagenet, inception, clip",
                      numbers.status().message());
  return numbers;
}

} // namespace

Result<double> parseFraction(const std::string &word, double low, double high) {
  const size_t bar = word.find('/');
  if (bar == std::string::npos)
    return parseNumber(word, low, high);
  DLC_ASSIGN(const double over,
             parseNumber(word.substr(0, bar), -kNoLimit, kNoLimit));
  DLC_ASSIGN(const double under,
             parseNumber(word.substr(bar + 1), kAboveZero, kNoLimit));
  DLC_TRY(parseNumber(numberText(over / under), low, high).status());
  return over / under;
}

Result<std::vector<double>> parseFractions(const Words &words, double low,
                                           double high) {
  std::vector<double> numbers;
  for (const std::string &word : words) {
    DLC_ASSIGN(numbers.emplace_back(), parseFraction(word, low, high));
  }
  return numbers;
}

Result<std::vector<double>> parseMeans(const Words &words) {
  return parseChannels(words, &NamedNumbers::mean, -kNoLimit);
}

Result<std::vector<double>> parseDeviations(const Words &words) {
  return parseChannels(words, &NamedNumbers::std, kAboveZero);
}

} // namespace dlc

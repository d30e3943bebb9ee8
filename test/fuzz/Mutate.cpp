// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/Mutate.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace dlc::fuzz {

uint64_t Random::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

int64_t strangeInteger(Random &random, int64_t old) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const uint64_t u = static_cast<uint64_t>(old);
  switch (random.below(8)) {
  case 0:
    return static_cast<int64_t>(random.below(10)) - 2;
  case 1:
    return static_cast<int64_t>(u + 1 - 2 * random.below(2));
  case 2:
    return static_cast<int64_t>(random.oneIn(2) ? u * 2 : 0 - u);
  case 3:
    return random.pick(std::vector<int64_t>{kMost, kLeast, kMost - 1, -1, 0});
  case 4:
    return random.pick(std::vector<int64_t>{
        INT32_MAX, INT32_MIN, int64_t(INT32_MAX) + 1, UINT32_MAX, 65535, 1000});
  case 5:
    return int64_t(1) << random.below(63);
  case 6:
    return static_cast<int64_t>(random.next());
  default:
    return static_cast<int64_t>(random.below(64));
  }
}

double strangeFloat(Random &random) {
  return random.pick(std::vector<double>{0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30,
                                         1e300, 1e-320, INFINITY, -INFINITY,
                                         NAN, 65504.0, 3.0});
}

std::string strangeText(Random &random, const std::string &old) {
  static const std::vector<std::string> kWords = {"",
                                                  "x",
                                                  "../../x",
                                                  "/etc/passwd",
                                                  "weights.bin",
                                                  "step",
                                                  "loss",
                                                  "rng.rank",
                                                  "const/t",
                                                  "__metadata__",
                                                  "\x1b[2J",
                                                  "\xff\xfe",
                                                  "\xe2\x80\xae",
                                                  "a\nb",
                                                  "a\"b\\",
                                                  "offset",
                                                  "length",
                                                  "location",
                                                  "4096",
                                                  "-1",
                                                  "99999999999999999999",
                                                  "1e400",
                                                  "batch",
                                                  "N",
                                                  "@main",
                                                  "%0",
                                                  "$(x)",
                                                  "{}",
                                                  "{:1000000}"};
  switch (random.below(6)) {
  case 0:
    return old + std::to_string(random.below(10));
  case 1:
    return old.substr(0, random.below(old.size() + 1));
  case 2:
    return std::string(size_t(1) << random.below(15), 'a');
  case 3: {
    std::string text = old;
    mutateBytes(random, text);
    return text;
  }
  default:
    return random.pick(kWords);
  }
}

void mutateBytes(Random &random, std::string &bytes) {
  if (bytes.empty()) {
    bytes.assign(1 + random.below(16), static_cast<char>(random.next()));
    return;
  }
  const size_t at = random.below(bytes.size());
  const size_t size =
      std::min<size_t>(bytes.size() - at, size_t(1) << random.below(8));
  switch (random.below(7)) {
  case 0:
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    break;
  case 1:
    bytes[at] = static_cast<char>(random.next());
    break;
  case 2:
    bytes.erase(at, size);
    break;
  case 3:
    bytes.insert(at, bytes.substr(random.below(bytes.size()), size));
    break;
  case 4:
    bytes.resize(at);
    break;
  case 5: // an integer
    for (size_t i = 0, n = random.oneIn(2) ? 4 : 8; i < n; ++i)
      if (at + i < bytes.size())
        bytes[at + i] = static_cast<char>(random.oneIn(2) ? 0xff : 0);
    break;
  default: {
    const auto value = static_cast<uint64_t>(strangeInteger(random, bytes[at]));
    for (size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
      bytes[at + i] = static_cast<char>(value >> (8 * i));
  }
  }
}

namespace {

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '-';
}

struct Range {
  size_t begin, size;
};

// The word at or after a random place; a character if there is none.
Range randomWord(Random &random, const std::string &text) {
  size_t begin = random.below(text.size());
  while (begin < text.size() && !isWord(text[begin]))
    ++begin;
  if (begin == text.size())
    return {random.below(text.size()), 1};
  while (begin > 0 && isWord(text[begin - 1]))
    --begin;
  size_t end = begin;
  while (end < text.size() && isWord(text[end]))
    ++end;
  return {begin, end - begin};
}

// From just after a separator to just after the next.
Range randomLine(Random &random, const std::string &text) {
  const size_t at = random.below(text.size());
  const size_t before = text.find_last_of("\n,", at);
  const size_t begin = before == text.npos ? 0 : before + 1;
  const size_t after = text.find_first_of("\n,", begin);
  return {begin, (after == text.npos ? text.size() : after + 1) - begin};
}

} // namespace

void mutateText(Random &random, std::string &text) {
  if (text.empty() || random.oneIn(8))
    return mutateBytes(random, text);
  const Range word = randomWord(random, text);
  const Range line = randomLine(random, text);
  const std::string old = text.substr(word.begin, word.size);
  switch (random.below(6)) {
  case 0:
    text.replace(word.begin, word.size,
                 std::to_string(strangeInteger(
                     random, std::strtoll(old.c_str(), nullptr, 10))));
    break;
  case 1:
    text.replace(word.begin, word.size, strangeText(random, old));
    break;
  case 2: {
    const Range other = randomWord(random, text);
    text.replace(word.begin, word.size, text.substr(other.begin, other.size));
    break;
  }
  case 3:
    text.insert(line.begin, text.substr(line.begin, line.size));
    break;
  case 4:
    text.erase(line.begin, line.size);
    break;
  default:
    text.insert(word.begin,
                random.pick(std::vector<std::string>{
                    "[", "]", "{", "}", ":", ",", "\"", "- ", "\n", "  ", "&a ",
                    "*a ", "!!float ", "null", "~", "#", "[[[[[[[[[[[["}));
  }
}

} // namespace dlc::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/unicode/Plain.h"

#include <algorithm>
#include <unordered_map>

namespace dlc {
namespace {

// What characters are, up to a 0.
const std::unordered_map<char32_t, const char32_t *> &plainTexts() {
  static const auto texts = [] {
    std::unordered_map<char32_t, const char32_t *> all;
    using Table = std::pair<const char32_t *, size_t>;
    for (const auto &[at, count] : {Table(kPlainLow, kPlainLowCount),
                                    Table(kPlainMiddle, kPlainMiddleCount),
                                    Table(kPlainHigh, kPlainHighCount)})
      for (size_t i = 0; i < count; ++i) {
        all.emplace(at[i], at + i + 1);
        while (at[i])
          ++i;
      }
    return all;
  }();
  return texts;
}

// A syllable's leading consonant, vowel and trailing consonant (Unicode,
// section 3.12).
void appendSyllable(char32_t syllable, std::string &to) {
  appendUtf8(0x1100 + syllable / 588, to);
  appendUtf8(0x1161 + syllable % 588 / 28, to);
  if (syllable % 28)
    appendUtf8(0x11a7 + syllable % 28, to);
}

void appendPlain(char32_t c, std::string &to) {
  constexpr char32_t kSyllable = 0xac00, kSyllableEnd = 0xd7a4;
  if (c < 0x80)
    to += char(c);
  else if (c >= kSyllable && c < kSyllableEnd)
    appendSyllable(c - kSyllable, to);
  else if (const auto found = plainTexts().find(c); found != plainTexts().end())
    for (const char32_t *at = found->second; *at; ++at)
      appendUtf8(*at, to);
  else if (!findRange(kPlainRemoved, kPlainRemovedCount, c))
    appendUtf8(strideOf(kPlainOne, kPlainOneCount, c), to);
}

} // namespace

std::string plainText(std::string_view text) {
  std::string plain;
  for (Utf8Char c; !text.empty(); text.remove_prefix(c.bytes)) {
    c = firstChar(text);
    c.bytes = std::max<uint8_t>(c.bytes, 1);
    appendPlain(c.character, plain);
  }
  return plain;
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/BertText.h"

#include <algorithm>
#include <iterator>

namespace dlc {
namespace {

constexpr char32_t kHangul = 0xac00, kHangulEnd = 0xd7a4;
constexpr char32_t kDottedI = 0x130;

bool isBertPunctuation(char32_t c) {
  return findRange(kBertPunctuation, kBertPunctuationCount, c);
}

char32_t lowerOf(char32_t c) {
  return strideOf(kBertLower, kBertLowerCount, c);
}

// Characters one by one through the rules, and words as they end.
class BertSplitter {
public:
  BertSplitter(const BertRules &rules,
               const std::function<void(std::string_view)> &word)
      : rules_(rules), take_(word) {}

  void add(char32_t c) {
    if (rules_.cleans && findRange(kBertRemoved, kBertRemovedCount, c))
      return;
    if (!rules_.spacesChinese || c < 0x2e80 ||
        !findRange(kBertChinese, kBertChineseCount, c))
      return strip(c);
    end();
    strip(c);
    end();
  }
  void end() {
    if (!word_.empty())
      take_(word_);
    word_.clear();
  }

private:
  void strip(char32_t c) {
    if (!rules_.stripsAccents || c < 0x80)
      return lower(c);
    if (c >= kHangul && c < kHangulEnd)
      return decompose(c - kHangul);
    if (findRange(kBertAccents, kBertAccentsCount, c))
      return;
    const BertMapping *end = kBertBases + kBertBasesCount;
    const BertMapping *found = std::lower_bound(
        kBertBases, end, c,
        [](const BertMapping &row, char32_t at) { return row.from < at; });
    if (found == end || found->from != c)
      return lower(c);
    for (const char32_t part : found->to)
      if (part)
        lower(part);
  }

  // A syllable's leading consonant, vowel and trailing consonant (Unicode,
  // section 3.12).
  void decompose(char32_t syllable) {
    lower(0x1100 + syllable / 588);
    lower(0x1161 + syllable % 588 / 28);
    if (syllable % 28)
      lower(0x11a7 + syllable % 28);
  }

  void lower(char32_t c) {
    if (rules_.lowers && c == kDottedI) {
      put('i');
      return put(0x307);
    }
    put(rules_.lowers ? lowerOf(c) : c);
  }

  void put(char32_t c) {
    if (charKind(c) == CharKind::Space)
      return end();
    if (!isBertPunctuation(c))
      return appendUtf8(c, word_);
    end();
    appendUtf8(c, word_);
    end();
  }

  const BertRules &rules_;
  const std::function<void(std::string_view)> &take_;
  std::string word_;
};

} // namespace

void eachBertWord(std::string_view text, const BertRules &rules,
                  const std::function<void(std::string_view)> &word) {
  BertSplitter splitter(rules, word);
  while (!text.empty()) {
    const Utf8Char c = firstChar(text);
    splitter.add(c.character);
    text.remove_prefix(std::max<size_t>(c.bytes, 1));
  }
  splitter.end();
}

std::string loweredText(std::string_view text) {
  std::string lower;
  for (Utf8Char c; !text.empty(); text.remove_prefix(c.bytes)) {
    c = firstChar(text);
    c.bytes = std::max<uint8_t>(c.bytes, 1);
    appendUtf8(c.character == kDottedI ? U'i' : lowerOf(c.character), lower);
    if (c.character == kDottedI)
      appendUtf8(0x307, lower);
  }
  return lower;
}

size_t findMisplacedMark(std::string_view text) {
  uint8_t before = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = firstChar(text.substr(at));
    const bool isPlain = c.character < 0x300;
    const UnicodeRange *mark =
        isPlain ? nullptr : findRange(kBertMarks, kBertMarksCount, c.character);
    if (mark && mark->value < before)
      return at;
    if (mark)
      before = mark->value;
    else if (isPlain ||
             !findRange(kBertAccents, kBertAccentsCount, c.character))
      before = 0;
    at += std::max<size_t>(c.bytes, 1);
  }
  return text.npos;
}

} // namespace dlc

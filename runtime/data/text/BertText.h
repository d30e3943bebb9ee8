// SPDX-License-Identifier: Apache-2.0
// Text in words, as BERT's normalizer and pre-tokenizer make them (Devlin et
// al. 2018; the package tokenizers' BertNormalizer and BertPreTokenizer).
#pragma once

#include "runtime/data/text/unicode/Unicode.h"

#include <functional>
#include <string>

namespace dlc {

struct BertRules {
  bool cleans = true;         // control characters go, white space is a blank
  bool spacesChinese = true;  // each such character is a word
  bool stripsAccents = false; // decomposed, without marks
  bool lowers = false;
};

// Calls word(text) for each, in UTF-8: what stands between white space, and
// each punctuation mark.
void eachBertWord(std::string_view text, const BertRules &rules,
                  const std::function<void(std::string_view)> &word);

// The first byte of a mark that stripping accents would put before another one;
// npos: there is none.
size_t findMisplacedMark(std::string_view text);

// Each character in lower case, by itself, as Rust's standard library does it.
std::string loweredText(std::string_view text);

// Made by tools/unicode_tables.py.
struct BertMapping {
  char32_t from, to[3] = {}; // 0 behind the last
};
extern const UnicodeRange kBertRemoved[], kBertPunctuation[], kBertAccents[],
    kBertMarks[], kBertChinese[];
extern const size_t kBertRemovedCount, kBertPunctuationCount, kBertAccentsCount,
    kBertMarksCount, kBertChineseCount;
extern const BertMapping kBertBases[];
extern const size_t kBertBasesCount;
extern const UnicodeStride kBertLower[];
extern const size_t kBertLowerCount;

} // namespace dlc

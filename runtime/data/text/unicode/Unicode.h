// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 text, and what tokenizers ask of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlc {

struct UnicodeRange {
  char32_t first, last;
  uint8_t value = 0;
};

// The range that a character is in, of `count` in order; null: none.
const UnicodeRange *findRange(const UnicodeRange *ranges, size_t count,
                              char32_t c);

// Each `stride`th character from first to last is another one, by `delta`.
struct UnicodeStride {
  char32_t first, last, stride;
  int32_t delta;
};

// What a character is by `count` of these, in order: itself, if by none.
char32_t strideOf(const UnicodeStride *strides, size_t count, char32_t c);

// Sorted; made by tools/unicode_tables.py.
extern const UnicodeRange kLetters[], kNumbers[], kNfc[];
extern const size_t kLettersCount, kNumbersCount, kNfcCount;

enum class CharKind : uint8_t { Letter, Number, Space, Other };

// \p{L}, \p{N}, \s, as the regular expressions of Hugging Face's tokenizers
// have them (Unicode 16).
CharKind charKind(char32_t character);

constexpr bool isAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A character and the bytes that it takes.
struct Utf8Char {
  char32_t character = 0;
  uint8_t bytes = 0; // 0: no UTF-8, or the end
};
Utf8Char firstChar(std::string_view text);

void appendUtf8(char32_t character, std::string &to);

// The first byte that is no UTF-8; npos: it is.
size_t findNoUtf8(std::string_view text);

// The first byte of a character that NFC may change; npos: the text is in NFC
// for sure (the quick check of Unicode's annex 15).
size_t findNotNfc(std::string_view text);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Where a text's graphemes end: what a reader takes for one character.
#pragma once

#include "runtime/data/text/unicode/Unicode.h"

namespace dlc {

// The bytes of the first extended grapheme cluster of UTF-8 text, not empty,
// that begins where one does (Unicode's annex 29, version 16, with conjuncts of
// the scripts that it has them for).
size_t firstGrapheme(std::string_view text);

// Grapheme_Cluster_Break, as tools/unicode_tables.py numbers it; the last two
// are syllables of Hangul, which are found by their numbers.
enum class GraphemeKind : uint8_t {
  Other,
  Control,
  Extend,
  Joiner,
  Prepend,
  SpacingMark,
  HangulL,
  HangulV,
  HangulT,
  Regional,
  HangulLV,
  HangulLVT
};
inline constexpr uint8_t kPictographic = 0x10, kConsonant = 0x20,
                         kLinker = 0x40;

extern const UnicodeRange kGraphemes[];
extern const size_t kGraphemesCount;

} // namespace dlc

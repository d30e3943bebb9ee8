// SPDX-License-Identifier: Apache-2.0
// Text without what letters have around them.
#pragma once

#include "runtime/data/text/unicode/Unicode.h"

namespace dlc {

// Compatibility decomposed (NFKD), then without any combining mark, as the
// package tokenizers' NFKD and StripAccents do it one after the other: since no
// mark is left, each character stands for itself.
std::string plainText(std::string_view text);

// Made by tools/unicode_tables.py; all but Hangul's syllables.
extern const UnicodeRange kPlainRemoved[];
extern const UnicodeStride kPlainOne[];
// A character, what it is, 0.
extern const char32_t kPlainLow[], kPlainMiddle[], kPlainHigh[];
extern const size_t kPlainRemovedCount, kPlainOneCount, kPlainLowCount,
    kPlainMiddleCount, kPlainHighCount;

} // namespace dlc

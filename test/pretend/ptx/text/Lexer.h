// SPDX-License-Identifier: Apache-2.0
// Splits the text of a PTX module into tokens. Rules: PTX ISA, "Syntax".
#pragma once

#include "Refusal.h"
#include <cstdint>
#include <string_view>
#include <vector>

namespace dlc::ptx {

struct Token {
  enum Kind { Word, Number, Text, Mark, End } kind;
  std::string_view text; // of a Text without its quotes
  int line;              // from 1
};

/// Words are names, opcodes with their modifiers (ld.global.v4.b32), directives
/// (.reg) and registers (%r1); a Mark is one character. The last token is an
/// End. Views into `text`. Throws a Refusal on a character of no token.
std::vector<Token> splitTokens(std::string_view text);

/// The bits of a Number: integers in base 8, 10 and 16, with a U or without,
/// 0f and 0d with the bits of an f32 and f64. Throws a Refusal.
uint64_t bitsOf(const Token &number);

} // namespace dlc::ptx

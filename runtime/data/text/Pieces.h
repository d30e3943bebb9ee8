// SPDX-License-Identifier: Apache-2.0
// Text in pieces that tokens do not cross.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlc {

// The regular expressions that tokenizers split by.
enum class PiecePattern {
  Gpt2,   // and all that ByteLevel's use_regex is
  Llama3, // up to three digits together
  Qwen2,  // each digit apart
};

// Which of them it is; none: another.
std::optional<PiecePattern> piecePatternOf(std::string_view regex);

// The bytes that its first match in UTF-8 text, not empty, takes: the text's
// first piece.
size_t firstPiece(std::string_view text, PiecePattern pattern);

} // namespace dlc

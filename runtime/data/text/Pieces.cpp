// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/Pieces.h"

#include "runtime/data/text/unicode/Unicode.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace dlc {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// A place in the text, and what is there.
class PieceCursor {
public:
  explicit PieceCursor(std::string_view text) : text_(text) { look(); }

  size_t at() const { return at_; }
  bool isEnd() const { return at_ >= text_.size(); }
  bool is(CharKind kind) const { return !isEnd() && kind_ == kind; }
  bool isNewline() const {
    return !isEnd() && (char_.character == '\r' || char_.character == '\n');
  }
  bool isBlank() const { return !isEnd() && char_.character == ' '; }
  void step() {
    at_ += char_.bytes ? char_.bytes : 1;
    look();
  }
  // Over at most `most` characters of a kind; how many.
  size_t skip(CharKind kind, size_t most = SIZE_MAX) {
    size_t count = 0;
    for (; count < most && is(kind); ++count)
      step();
    return count;
  }

private:
  void look() {
    char_ = firstChar(text_.substr(std::min(at_, text_.size())));
    kind_ = charKind(char_.character);
  }

  std::string_view text_;
  size_t at_ = 0;
  Utf8Char char_;
  CharKind kind_ = CharKind::Other;
};

// 's and the like; 0: none.
size_t contraction(std::string_view text, bool anyCase) {
  if (text[0] != '\'')
    return 0;
  const auto lower = [&](size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return anyCase && c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  };
  constexpr std::string_view kLongS = "\xc5\xbf"; // which is an s in any case
  if (anyCase && text.substr(1).starts_with(kLongS))
    return 3;
  if (lower(1) && std::string_view("stmd").find(lower(1)) != text.npos)
    return 2;
  const std::array two = {lower(1), lower(2)};
  for (std::string_view word : {"re", "ve", "ll"})
    if (std::string_view(two.data(), two.size()) == word)
      return 3;
  return 0;
}

// A run of white space that a blank before something may be left of.
size_t whitePiece(std::string_view text, bool splitsLines) {
  PieceCursor cursor(text);
  size_t before = 0, newline = 0; // where the last one begins; behind a newline
  while (cursor.is(CharKind::Space)) {
    before = cursor.at();
    const bool ends = cursor.isNewline();
    cursor.step();
    if (ends)
      newline = cursor.at();
  }
  if (splitsLines && newline)
    return newline;
  return cursor.isEnd() || before == 0 ? cursor.at() : before;
}

size_t gpt2Piece(std::string_view text) {
  if (const size_t size = contraction(text, false))
    return size;
  PieceCursor cursor(text);
  if (cursor.isBlank())
    cursor.step();
  for (CharKind kind : {CharKind::Letter, CharKind::Number, CharKind::Other})
    if (cursor.skip(kind))
      return cursor.at();
  return whitePiece(text, false);
}

size_t llama3Piece(std::string_view text, size_t digits) {
  if (const size_t size = contraction(text, true))
    return size;
  PieceCursor cursor(text);
  if (!cursor.isNewline() && !cursor.is(CharKind::Letter) &&
      !cursor.is(CharKind::Number))
    cursor.step();
  if (cursor.skip(CharKind::Letter))
    return cursor.at();
  cursor = PieceCursor(text);
  if (cursor.skip(CharKind::Number, digits))
    return cursor.at();
  if (cursor.isBlank())
    cursor.step();
  if (cursor.skip(CharKind::Other)) {
    while (cursor.isNewline())
      cursor.step();
    return cursor.at();
  }
  return whitePiece(text, true);
}

} // namespace

std::optional<PiecePattern> piecePatternOf(std::string_view regex) {
  if (regex == kGpt2)
    return PiecePattern::Gpt2;
  if (regex == kLlama3)
    return PiecePattern::Llama3;
  if (regex == kQwen2)
    return PiecePattern::Qwen2;
  return std::nullopt;
}

size_t firstPiece(std::string_view text, PiecePattern pattern) {
  switch (pattern) {
  case PiecePattern::Gpt2:
    return gpt2Piece(text);
  case PiecePattern::Llama3:
    return llama3Piece(text, 3);
  case PiecePattern::Qwen2:
    return llama3Piece(text, 1);
  }
  return text.size();
}

} // namespace dlc

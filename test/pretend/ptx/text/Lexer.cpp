// SPDX-License-Identifier: Apache-2.0
#include "Lexer.h"

#include <charconv>

namespace dlc::ptx {
namespace {

bool isOneOf(char c, std::string_view of) { return of.find(c) != of.npos; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool beginsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}
bool continuesWord(char c) {
  return beginsWord(c) || isDigit(c) || c == ':'; // modifiers: L2::128B
}

class Splitter {
public:
  explicit Splitter(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    while (skipSpace(), at < text.size())
      next();
    tokens.push_back({Token::End, {}, line});
    return std::move(tokens);
  }

private:
  bool begins(std::string_view what) const {
    return text.substr(at).starts_with(what);
  }
  void skipTo(std::string_view what) {
    for (; at < text.size() && !begins(what); ++at)
      line += text[at] == '\n';
  }
  void skipSpace() {
    for (; at < text.size(); ++at) {
      if (begins("//"))
        skipTo("\n");
      else if (begins("/*"))
        skipTo("*/"), at += 1; // the loop steps over the slash
      else if (!isOneOf(text[at], " \t\r\n"))
        return;
      line += at < text.size() && text[at] == '\n';
    }
  }
  void add(Token::Kind kind, size_t count) {
    tokens.push_back({kind, text.substr(at, count), line});
    at += count;
  }
  void next() {
    const std::string_view rest = text.substr(at);
    size_t count = 1;
    if (rest[0] == '"') {
      const size_t end = rest.find('"', 1);
      if (end == rest.npos)
        throw Refusal(line, "a text without an end");
      ++at;
      add(Token::Text, end - 1);
      ++at;
    } else if (isDigit(rest[0])) {
      while (count < rest.size() &&
             (isDigit(rest[count]) || rest[count] == '.' ||
              (beginsWord(rest[count]) && rest[count] != '%')))
        ++count;
      add(Token::Number, count);
    } else if (beginsWord(rest[0])) {
      while (count < rest.size() && continuesWord(rest[count]) &&
             (rest[count] != ':' || isModifierColon(rest, count)))
        ++count;
      add(Token::Word, count);
    } else if (isOneOf(rest[0], "{}[](),;:@!|+-=<>")) {
      add(Token::Mark, 1);
    } else {
      throw Refusal(line,
                    std::string("unexpected character '") + rest[0] + "'");
    }
  }
  /// A label ends with one colon, L2::128B has two.
  static bool isModifierColon(std::string_view rest, size_t i) {
    return rest[i - 1] == ':' || (i + 1 < rest.size() && rest[i + 1] == ':');
  }

  std::string_view text;
  size_t at = 0;
  int line = 1;
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> splitTokens(std::string_view text) {
  return Splitter(text).run();
}

uint64_t bitsOf(const Token &number) {
  std::string_view digits = number.text;
  int base = 10;
  const auto drop = [&](std::string_view prefix, int is) {
    const bool found = base == 10 && digits.starts_with(prefix);
    if (found) {
      digits.remove_prefix(prefix.size());
      base = is;
    }
    return found;
  };
  const bool isFloat =
      drop("0f", 16) || drop("0F", 16) || drop("0d", 16) || drop("0D", 16);
  if (!isFloat && digits.ends_with('U'))
    digits.remove_suffix(1);
  if (!isFloat && !drop("0x", 16) && !drop("0X", 16) && digits.size() > 1)
    drop("0", 8);
  uint64_t bits = 0;
  const char *end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, bits, base);
  if (result.ec != std::errc() || result.ptr != end)
    throw Refusal(number.line, "'" + std::string(number.text) +
                                   "' is no number that is understood");
  return bits;
}

} // namespace dlc::ptx

// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>

namespace dlc {
namespace {

constexpr uint32_t kInvalid = ~uint32_t(0);

struct Character {
  uint32_t code; // kInvalid: a byte that is not UTF-8
  size_t size;   // in bytes
};

// Decodes the first character; only shortest forms, no surrogates.
Character firstOf(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80)
    return {lead, 1};
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size)
    return {kInvalid, 1};
  uint32_t code = lead & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return {kInvalid, 1};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool tooLong = size == 3 ? code < 0x800 : size == 4 && code < 0x10000;
  if (tooLong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return {kInvalid, 1};
  return {code, size};
}

struct Range {
  uint32_t first, last;
};

// Ranges, sorted, of control and format characters, invisible fillers, line
// separators, variation selectors, tags and noncharacters.
constexpr Range kUnseen[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},
    {0x34f, 0x34f},     {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfdd0, 0xfdef},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool isUnseen(uint32_t code) {
  auto range = std::ranges::lower_bound(kUnseen, code, {}, &Range::last);
  return range != std::end(kUnseen) && range->first <= code;
}

bool isLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)); }

bool isEscaped(Character c) { return c.code == kInvalid || isUnseen(c.code); }

std::string escape(Character c, std::string_view text) {
  if (c.code == kInvalid)
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
  switch (c.code) {
  case '\n':
    return "\\n";
  case '\t':
    return "\\t";
  case '\r':
    return "\\r";
  }
  return c.code < 0x80      ? fmt::format("\\x{:02x}", c.code)
         : c.code < 0x10000 ? fmt::format("\\u{:04x}", c.code)
                            : fmt::format("\\U{:08x}", c.code);
}

// Whether a backslash before `rest` would be ambiguous with an escape.
bool startsEscape(std::string_view rest) {
  constexpr std::string_view kAfterBackslash = "\\ntrxuU";
  return !rest.empty() &&
         (kAfterBackslash.find(rest[0]) != std::string_view::npos ||
          isEscaped(firstOf(rest)));
}

// At most `limit` characters; `exact`: different texts have different results.
std::string shown(std::string_view text, size_t limit, bool exact) {
  constexpr std::string_view kMore = "...";
  std::string result;
  size_t length = 0, kept = 0; // kept: the bytes that leave room for kMore
  while (!text.empty()) {
    const Character c = firstOf(text);
    const bool escaped = isEscaped(c);
    std::string piece =
        escaped ? escape(c, text) : std::string(text.substr(0, c.size));
    if (exact && c.code == '\\' && startsEscape(text.substr(1)))
      piece = "\\\\";
    length += escaped ? piece.size() : piece == "\\\\" ? 2 : 1;
    if (length > limit)
      return result.substr(0, kept) + std::string(kMore);
    result += piece;
    if (length + kMore.size() <= limit)
      kept = result.size();
    text.remove_prefix(c.size);
  }
  return result;
}

// The end of the quote that opens at `from`: an apostrophe before a letter, as
// in "numpy's", does not end it.
size_t endOfQuote(std::string_view line, size_t from) {
  while ((from = line.find('\'', from)) != line.npos &&
         from + 1 < line.size() && isLetter(line[from + 1]))
    ++from;
  return std::min(from, line.size());
}

std::string lineText(std::string_view line) {
  constexpr size_t kMostQuoted = 200, kMost = 2000;
  std::string result;
  for (size_t at = 0; at < line.size();) {
    size_t open = std::min(line.find('\'', at), line.size() - 1) + 1;
    result += withoutControls(line.substr(at, open - at));
    at = open;
    if (line[open - 1] != '\'' || (open > 1 && isLetter(line[open - 2])))
      continue;
    const size_t end = endOfQuote(line, open);
    result += shown(line.substr(open, end - open), kMostQuoted, false);
    at = end;
    if (at < line.size())
      result += line[at++];
  }
  return result.size() <= kMost ? result : shown(line, kMost, false);
}

} // namespace

std::string printable(std::string_view text, size_t limit) {
  return shown(text, limit, true);
}

std::string withoutControls(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character c = firstOf(text);
    if (isEscaped(c) && c.code != '\n' && c.code != '\t')
      result += escape(c, text);
    else
      result += text.substr(0, c.size);
    text.remove_prefix(c.size);
  }
  return result;
}

std::string messageText(std::string_view text) {
  std::string result;
  for (size_t end; (end = text.find('\n')) != text.npos;
       text.remove_prefix(end + 1))
    result += lineText(text.substr(0, end)) + '\n';
  return result + lineText(text);
}

std::string shellQuoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'", exact = "$'";
  bool printed = true;
  while (!word.empty()) {
    const Character c = firstOf(word);
    const std::string_view piece = word.substr(0, c.size);
    quoted += piece == "'" ? "'\\''" : piece;
    if (isEscaped(c)) {
      printed = false;
      for (unsigned char byte : piece)
        exact += fmt::format("\\{:03o}", byte);
    } else {
      exact += piece == "'" || piece == "\\" ? "\\" : "";
      exact += piece;
    }
    word.remove_prefix(c.size);
  }
  return (printed ? quoted : exact) + "'";
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const Character c = firstOf(text);
    if (c.code == kInvalid)
      return false;
    text.remove_prefix(c.size);
  }
  return true;
}

std::vector<std::string_view> splitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  for (const char c : text) {
    if (c == ',' && depth <= 0) {
      words.push_back(std::move(word));
      word.clear();
      continue;
    }
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    word += c;
  }
  if (!word.empty())
    words.push_back(std::move(word));
  return words;
}

std::string lowerCase(std::string text) {
  for (char &c : text)
    c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return text;
}

} // namespace dlc

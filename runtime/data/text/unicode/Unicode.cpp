// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/unicode/Unicode.h"

#include <algorithm>
#include <array>

namespace dlc {

const UnicodeRange *findRange(const UnicodeRange *ranges, size_t count,
                              char32_t c) {
  const UnicodeRange *end = ranges + count;
  const UnicodeRange *found = std::lower_bound(
      ranges, end, c,
      [](const UnicodeRange &range, char32_t at) { return range.last < at; });
  return found != end && found->first <= c ? found : nullptr;
}

char32_t strideOf(const UnicodeStride *strides, size_t count, char32_t c) {
  const UnicodeStride *end = strides + count;
  const UnicodeStride *found = std::lower_bound(
      strides, end, c,
      [](const UnicodeStride &range, char32_t at) { return range.last < at; });
  const bool isOne = found != end && found->first <= c &&
                     (c - found->first) % found->stride == 0;
  return isOne ? char32_t(int64_t(c) + found->delta) : c;
}

void appendUtf8(char32_t c, std::string &to) {
  if (c < 0x80) {
    to += char(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  to += char(0xff00 >> (more + 1) | c >> 6 * more);
  for (int i = more; i-- > 0;)
    to += char(0x80 | (c >> 6 * i & 0x3f));
}

namespace {

bool isWhite(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

CharKind findKind(char32_t c) {
  if (isWhite(c))
    return CharKind::Space;
  if (findRange(kLetters, kLettersCount, c))
    return CharKind::Letter;
  return findRange(kNumbers, kNumbersCount, c) ? CharKind::Number
                                               : CharKind::Other;
}

} // namespace

CharKind charKind(char32_t character) {
  static const auto ascii = [] {
    std::array<CharKind, 128> kinds;
    for (char32_t c = 0; c < 128; ++c)
      kinds[c] = findKind(c);
    return kinds;
  }();
  return character < 128 ? ascii[character] : findKind(character);
}

Utf8Char firstChar(std::string_view text) {
  if (text.empty())
    return {};
  const auto at = [&](size_t i) {
    return i < text.size() ? uint8_t(text[i]) : uint8_t(0);
  };
  const uint8_t lead = at(0);
  if (lead < 0x80)
    return {lead, 1};
  const uint8_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4)
    return {};
  char32_t c = lead & (0x7f >> bytes);
  for (uint8_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80)
      return {};
    c = c << 6 | (at(i) & 0x3f);
  }
  const bool isLong = (bytes == 3 && c < 0x800) || (bytes == 4 && c < 0x10000);
  if (isLong || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
    return {};
  return {c, bytes};
}

size_t findNoUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const uint8_t bytes = firstChar(text.substr(at)).bytes;
    if (bytes == 0)
      return at;
    at += bytes;
  }
  return text.npos;
}

size_t findNotNfc(std::string_view text) {
  constexpr uint8_t kUnknown = 255;
  uint8_t before = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = firstChar(text.substr(at));
    const UnicodeRange *range =
        c.character < 0x300 ? nullptr : findRange(kNfc, kNfcCount, c.character);
    const uint8_t combining = range ? range->value : 0;
    if (combining == kUnknown || (combining && combining < before))
      return at;
    before = combining;
    at += c.bytes;
  }
  return text.npos;
}

} // namespace dlc

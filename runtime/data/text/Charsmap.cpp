// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/Charsmap.h"

#include "runtime/base/Text.h"
#include "runtime/data/text/unicode/Graphemes.h"

#include <algorithm>

namespace dlc {
namespace {

constexpr size_t kShortGrapheme = 6; // bytes
constexpr size_t kLongestText = 1024;

uint32_t littleU32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;)
    value = value << 8 | uint8_t(bytes[i]);
  return value;
}

// What a unit of the double array says.
bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t valueOf(uint32_t unit) { return unit & 0x7fffffff; }
uint32_t labelOf(uint32_t unit) { return unit & 0x800000ff; }
uint32_t offsetOf(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

} // namespace

Result<Charsmap> Charsmap::create(std::string_view bytes) {
  const uint64_t size = bytes.size() < 4 ? 0 : littleU32(bytes);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - 4)
    return failed("its precompiled_charsmap of {} bytes has an array of {}",
                  bytes.size(), size);
  Charsmap map;
  for (size_t i = 0; i < size; i += 4)
    map.units_.push_back(littleU32(bytes.substr(4 + i)));
  map.texts_ = bytes.substr(4 + size);
  if (!isUtf8(map.texts_))
    return failed("its precompiled_charsmap has texts that are no UTF-8");
  for (size_t at = 0; at < map.texts_.size();) {
    const size_t end = std::min(map.texts_.find('\0', at), map.texts_.size());
    if (end - at > kLongestText)
      return failed("its precompiled_charsmap has a text of {} bytes, expected "
                    "at most {}",
                    end - at, kLongestText);
    at = end + 1;
  }
  return map;
}

std::optional<std::string_view> Charsmap::find(std::string_view text) const {
  uint32_t at = offsetOf(units_[0]);
  for (const char c : text) {
    at ^= uint8_t(c);
    if (c == 0 || at >= units_.size() || labelOf(units_[at]) != uint8_t(c))
      return std::nullopt;
    const uint32_t unit = units_[at];
    at ^= offsetOf(unit);
    if (!hasLeaf(unit))
      continue;
    if (at >= units_.size() || valueOf(units_[at]) > texts_.size())
      return std::nullopt;
    const auto found = std::string_view(texts_).substr(valueOf(units_[at]));
    return found.substr(0, found.find('\0'));
  }
  return std::nullopt;
}

std::string Charsmap::apply(std::string_view text) const {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::string_view grapheme = text.substr(0, firstGrapheme(text));
    text.remove_prefix(grapheme.size());
    if (grapheme.size() < kShortGrapheme)
      if (const auto found = find(grapheme)) {
        result += *found;
        continue;
      }
    while (!grapheme.empty()) {
      const size_t size = std::max<size_t>(firstChar(grapheme).bytes, 1);
      const std::string_view c = grapheme.substr(0, size);
      result += find(c).value_or(c);
      grapheme.remove_prefix(size);
    }
  }
  return result;
}

std::optional<std::string> bytesOfBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
                                       "mnopqrstuvwxyz0123456789+/";
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos)
      return std::nullopt;
    bits = bits << 6 | uint32_t(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += char(bits >> count & 0xff);
    }
  }
  return bytes;
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/generate/Utf8.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace dlc::tool {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The number of available bytes of a character, and whether it is complete.
struct CharacterPart {
  size_t bytes;
  bool isWhole, mayGoOn;
};

CharacterPart firstPart(std::string_view text) {
  const auto lead = uint8_t(text[0]);
  if (lead < 0x80)
    return {1, true, false};
  if (lead < 0xc2 || lead > 0xf4)
    return {1, false, false};
  const size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  size_t bytes = 1;
  for (; bytes < std::min(whole, text.size()); ++bytes) {
    const auto next = uint8_t(text[bytes]);
    const uint8_t least = bytes > 1      ? 0x80
                          : lead == 0xe0 ? 0xa0
                          : lead == 0xf0 ? 0x90
                                         : 0x80;
    const uint8_t most = bytes > 1      ? 0xbf
                         : lead == 0xed ? 0x9f
                         : lead == 0xf4 ? 0x8f
                                        : 0xbf;
    if (next < least || next > most)
      return {bytes, false, false};
  }
  return {bytes, bytes == whole, bytes < whole};
}

} // namespace

std::string takeUtf8(std::string &bytes, bool isEnd) {
  std::string text;
  std::string_view left = bytes;
  while (!left.empty()) {
    const CharacterPart part = firstPart(left);
    if (part.mayGoOn && part.bytes == left.size() && !isEnd)
      break;
    text += part.isWhole ? left.substr(0, part.bytes) : kReplacement;
    left.remove_prefix(part.bytes);
  }
  bytes.erase(0, bytes.size() - left.size());
  return text;
}

} // namespace dlc::tool

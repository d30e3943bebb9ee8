// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/unicode/ByteAlphabet.h"

#include "runtime/data/text/unicode/Unicode.h"

#include <array>

namespace dlc {
namespace {

// By character; below 0: none.
constexpr size_t kCharacters = 512;
std::array<int16_t, kCharacters> makeBytes() {
  std::array<int16_t, kCharacters> bytes;
  bytes.fill(-1);
  size_t next = 256;
  for (int16_t byte = 0; byte < 256; ++byte) {
    const bool isPlain = (byte >= '!' && byte <= '~') ||
                         (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    bytes[isPlain ? size_t(byte) : next++] = byte;
  }
  return bytes;
}

} // namespace

std::optional<std::string> bytesOfAlphabet(std::string_view text) {
  static const auto kBytes = makeBytes();
  std::string bytes;
  while (!text.empty()) {
    const Utf8Char c = firstChar(text);
    if (c.bytes == 0 || c.character >= kCharacters || kBytes[c.character] < 0)
      return std::nullopt;
    bytes += char(kBytes[c.character]);
    text.remove_prefix(c.bytes);
  }
  return bytes;
}

} // namespace dlc

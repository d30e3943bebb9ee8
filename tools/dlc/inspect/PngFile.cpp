// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/inspect/PngFile.h"

#include <new>
#include <zlib.h>

namespace dlc {
namespace {

std::string bigEndian(uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

// Length, type, content, CRC-32 of type and content.
std::string pngChunk(const std::string &type, const std::string &content) {
  const std::string summed = type + content;
  const uLong sum = ::crc32_z(0, reinterpret_cast<const Bytef *>(summed.data()),
                              summed.size());
  return bigEndian(uint32_t(content.size())) + summed +
         bigEndian(uint32_t(sum));
}

std::string deflated(const std::string &content) {
  uLongf size = ::compressBound(content.size());
  std::string result(size, '\0');
  if (::compress2(reinterpret_cast<Bytef *>(result.data()), &size,
                  reinterpret_cast<const Bytef *>(content.data()),
                  content.size(), Z_DEFAULT_COMPRESSION) != Z_OK)
    throw std::bad_alloc();
  result.resize(size);
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i)
      three = three << 8 |
              (at + i < bytes.size() ? uint8_t(bytes[at + i]) : uint8_t(0));
    for (size_t i = 0; i < 4; ++i)
      text += at + i > bytes.size() ? '=' : kDigits[three >> (18 - 6 * i) & 63];
  }
  return text;
}

} // namespace

std::string encodePng(const Picture &picture) {
  std::string rows;
  for (int y = 0; y < picture.height; ++y) {
    rows += '\0'; // no filter
    rows.append(reinterpret_cast<const char *>(picture.row(y)),
                size_t(picture.width) * 3);
  }
  const std::string head = bigEndian(uint32_t(picture.width)) +
                           bigEndian(uint32_t(picture.height)) +
                           std::string("\x08\x02\0\0\0", 5); // RGB of 8 bits
  return "\x89PNG\r\n\x1a\n" + pngChunk("IHDR", head) +
         pngChunk("IDAT", deflated(rows)) + pngChunk("IEND", "");
}

std::string addressOf(const Picture &picture) {
  return "data:image/png;base64," + base64(encodePng(picture));
}

} // namespace dlc

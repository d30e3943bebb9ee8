// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/Compression.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>
#include <zstd.h>

namespace dlc {
namespace {

using Bytes = std::span<const std::byte>;

// What Snappy and LZ4 are made of: new bytes, and copies of those before.
class Unpacker {
public:
  Unpacker(Bytes from, std::span<std::byte> to) : from_(from), to_(to) {}

  bool hasMore() const { return at_ < from_.size(); }
  bool isFull() const { return written_ == to_.size(); }

  // A number of `bytes` bytes, the lowest first.
  bool number(size_t bytes, uint64_t &value) {
    if (from_.size() - at_ < bytes)
      return false;
    value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value |= uint64_t(from_[at_++]) << 8 * i;
    return true;
  }
  bool literal(uint64_t size) {
    if (size > from_.size() - at_ || size > to_.size() - written_)
      return false;
    std::copy_n(from_.begin() + ptrdiff_t(at_), size,
                to_.begin() + ptrdiff_t(written_));
    at_ += size, written_ += size;
    return true;
  }
  // May reach into what it writes itself.
  bool copy(uint64_t back, uint64_t size) {
    if (back == 0 || back > written_ || size > to_.size() - written_)
      return false;
    for (; size > 0; --size, ++written_)
      to_[written_] = to_[written_ - back];
    return true;
  }

private:
  Bytes from_;
  std::span<std::byte> to_;
  size_t at_ = 0, written_ = 0;
};

// github.com/google/snappy, format_description.txt
bool unpackSnappy(Bytes from, std::span<std::byte> to) {
  Unpacker unpacker(from, to);
  uint64_t size = 0;
  for (int shift = 0;; shift += 7) {
    uint64_t next = 0;
    if (shift > 28 || !unpacker.number(1, next))
      return false;
    size |= (next & 127) << shift;
    if (next < 128)
      break;
  }
  if (size != to.size())
    return false;
  while (unpacker.hasMore()) {
    uint64_t tag = 0, more = 0;
    unpacker.number(1, tag);
    uint64_t length = (tag >> 2) + 1;
    bool fits = true;
    switch (tag & 3) {
    case 0:
      if (length > 60) {
        fits = unpacker.number(length - 60, more);
        length = more + 1;
      }
      fits = fits && unpacker.literal(length);
      break;
    case 1:
      fits = unpacker.number(1, more) &&
             unpacker.copy((tag >> 5) << 8 | more, 4 + (tag >> 2 & 7));
      break;
    default:
      fits = unpacker.number((tag & 3) == 2 ? 2 : 4, more) &&
             unpacker.copy(more, length);
    }
    if (!fits)
      return false;
  }
  return unpacker.isFull();
}

// github.com/lz4/lz4, doc/lz4_Block_format.md
bool unpackLz4(Bytes from, std::span<std::byte> to) {
  Unpacker unpacker(from, to);
  const auto extend = [&](uint64_t &length) {
    for (uint64_t next = 255; length >= 15 && next == 255; length += next)
      if (!unpacker.number(1, next))
        return false;
    return true;
  };
  while (unpacker.hasMore()) {
    uint64_t token = 0, back = 0;
    unpacker.number(1, token);
    uint64_t literal = token >> 4, match = token & 15;
    if (!extend(literal) || !unpacker.literal(literal))
      return false;
    if (!unpacker.hasMore())
      break;
    if (!unpacker.number(2, back) || !extend(match) ||
        !unpacker.copy(back, match + 4))
      return false;
  }
  return unpacker.isFull();
}

// One or several gzip streams.
bool unpackGzip(Bytes from, std::span<std::byte> to) {
  z_stream stream{};
  if (::inflateInit2(&stream, MAX_WBITS + 32) != Z_OK)
    return false;
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<std::byte *>(from.data()));
  stream.avail_in = uInt(from.size());
  stream.next_out = reinterpret_cast<Bytef *>(to.data());
  stream.avail_out = uInt(to.size());
  int state = Z_STREAM_END;
  while (state == Z_STREAM_END && stream.avail_in > 0) {
    state = ::inflate(&stream, Z_FINISH);
    if (state == Z_STREAM_END && stream.avail_in > 0 &&
        ::inflateReset(&stream) != Z_OK)
      break;
  }
  const bool isFull = state == Z_STREAM_END && stream.avail_out == 0;
  ::inflateEnd(&stream);
  return isFull;
}

bool unpackZstd(Bytes from, std::span<std::byte> to) {
  return ::ZSTD_decompress(to.data(), to.size(), from.data(), from.size()) ==
         to.size();
}

} // namespace

Status decompress(int codec, Bytes from, std::span<std::byte> to) {
  bool isWhole = false;
  switch (codec) {
  case 0:
    isWhole = from.size() == to.size();
    if (isWhole)
      std::copy(from.begin(), from.end(), to.begin());
    break;
  case 1:
    isWhole = unpackSnappy(from, to);
    break;
  case 2:
    isWhole = unpackGzip(from, to);
    break;
  case 6:
    isWhole = unpackZstd(from, to);
    break;
  case 7:
    isWhole = unpackLz4(from, to);
    break;
  default: {
    constexpr std::string_view kNames[] = {"LZO", "Brotli", "LZ4 in frames"};
    const auto name = codec >= 3 && codec <= 5 ? kNames[codec - 3] : "unknown";
    return failed("its compression is {}: write it with Snappy, gzip or "
                  "Zstandard",
                  name);
  }
  }
  return isWhole ? Status() : failed("a page is damaged");
}

} // namespace dlc

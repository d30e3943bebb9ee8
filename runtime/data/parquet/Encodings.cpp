// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/Encodings.h"

#include <algorithm>
#include <cstring>

namespace dlc {
namespace {

using Bytes = std::span<const std::byte>;

std::string_view textAt(Bytes bytes, size_t at, size_t size) {
  return {reinterpret_cast<const char *>(bytes.data()) + at, size};
}

template <class T> T valueAt(Bytes bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

std::optional<uint64_t> varintAt(Bytes from, size_t &at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && at < from.size(); shift += 7) {
    const auto next = uint64_t(from[at++]);
    value |= (next & 127) << shift;
    if (next < 128)
      return value;
  }
  return std::nullopt;
}

// Bits from the lowest of each byte on.
class PackedBits {
public:
  explicit PackedBits(Bytes from) : from_(from) {}
  uint64_t next(int width) {
    uint64_t value = 0;
    for (int got = 0; got < width;) {
      const int in = int(bit_ % 8), some = std::min(8 - in, width - got);
      const uint64_t byte = uint64_t(from_[bit_ / 8]) >> in;
      value |= (byte & ((1u << some) - 1)) << got;
      got += some, bit_ += size_t(some);
    }
    return value;
  }

private:
  Bytes from_;
  size_t bit_ = 0;
};

uint32_t bytesOfType(const ParquetColumn &column) {
  switch (column.type) {
  case ParquetType::Int32:
  case ParquetType::Float:
    return 4;
  case ParquetType::Int64:
  case ParquetType::Double:
    return 8;
  case ParquetType::FixedBytes:
    return column.fixedBytes;
  default:
    return 0;
  }
}

bool readTexts(Bytes from, uint64_t count, StoredValues &to) {
  for (size_t at = 0; count > 0; --count) {
    if (from.size() - at < 4)
      return false;
    uint32_t size;
    std::memcpy(&size, from.data() + at, sizeof size);
    at += sizeof size;
    if (size > from.size() - at)
      return false;
    to.texts.push_back(textAt(from, at, size));
    at += size;
  }
  return true;
}

bool readBits(Bytes from, uint64_t count, StoredValues &to) {
  if (from.size() < (count + 7) / 8)
    return false;
  PackedBits bits(from);
  for (; count > 0; --count)
    to.whole.push_back(int64_t(bits.next(1)));
  return true;
}

bool readPlain(const ParquetColumn &column, Bytes from, uint64_t count,
               StoredValues &to) {
  if (column.type == ParquetType::Bytes)
    return readTexts(from, count, to);
  if (column.type == ParquetType::Boolean)
    return readBits(from, count, to);
  const uint32_t size = bytesOfType(column);
  if (size == 0 || from.size() / size < count)
    return false;
  for (size_t i = 0; i < count; ++i)
    switch (column.type) {
    case ParquetType::Int32:
      to.whole.push_back(valueAt<int32_t>(from, i));
      break;
    case ParquetType::Int64:
      to.whole.push_back(valueAt<int64_t>(from, i));
      break;
    case ParquetType::Float:
      to.numbers.push_back(double(valueAt<float>(from, i)));
      break;
    case ParquetType::Double:
      to.numbers.push_back(valueAt<double>(from, i));
      break;
    default:
      to.texts.push_back(textAt(from, i * size, size));
    }
  return true;
}

// A stream for each byte of a value: as PLAIN when they are side by side.
bool readSplitStreams(const ParquetColumn &column, Bytes from, uint64_t count,
                      StoredValues &to) {
  const uint32_t size = bytesOfType(column);
  if (size == 0 || from.size() / size != count)
    return false;
  to.held.resize(size_t(count) * size);
  for (size_t i = 0; i < count; ++i)
    for (size_t byte = 0; byte < size; ++byte)
      to.held[i * size + byte] = from[byte * size_t(count) + i];
  return readPlain(column, to.held, count, to);
}

// DELTA_BINARY_PACKED: the bytes that it takes.
std::optional<size_t> readDeltas(Bytes from, uint64_t count,
                                 std::vector<int64_t> &to) {
  size_t at = 0;
  const auto zigzag = [&]() -> std::optional<uint64_t> {
    const auto value = varintAt(from, at);
    return value ? std::optional((*value >> 1) ^ (0 - (*value & 1))) : value;
  };
  const auto block = varintAt(from, at), parts = varintAt(from, at),
             total = varintAt(from, at), first = zigzag();
  constexpr uint64_t kMostBlock = 1 << 20;
  if (!first || *total != count || *parts == 0 || *parts > *block ||
      *block > kMostBlock || *block % *parts || *block / *parts % 8)
    return std::nullopt;
  const uint64_t each = *block / *parts; // deltas of a part
  uint64_t value = *first, left = count;
  const auto add = [&](uint64_t delta) {
    value += delta;
    to.push_back(int64_t(value));
    --left;
  };
  if (left > 0)
    add(0);
  while (left > 0) {
    const auto least = zigzag();
    if (!least || from.size() - at < *parts)
      return std::nullopt;
    const Bytes widths = from.subspan(at, *parts);
    at += *parts;
    for (uint64_t part = 0; part < *parts && left > 0; ++part) {
      const auto width = uint64_t(widths[part]);
      if (width > 64 || from.size() - at < width * each / 8)
        return std::nullopt;
      PackedBits bits(from.subspan(at, width * each / 8));
      for (uint64_t i = 0; i < each && left > 0; ++i)
        add(*least + bits.next(int(width)));
      at += width * each / 8;
    }
  }
  return at;
}

// DELTA_LENGTH_BYTE_ARRAY
bool readLengths(Bytes from, uint64_t count,
                 std::vector<std::string_view> &to) {
  std::vector<int64_t> lengths;
  const auto taken = readDeltas(from, count, lengths);
  if (!taken)
    return false;
  size_t at = *taken;
  for (const int64_t length : lengths) {
    if (length < 0 || uint64_t(length) > from.size() - at)
      return false;
    to.push_back(textAt(from, at, size_t(length)));
    at += size_t(length);
  }
  return true;
}

// DELTA_BYTE_ARRAY: how much each text shares with the one before, and what
// comes behind that.
bool readPrefixes(const ParquetColumn &column, Bytes from, uint64_t count,
                  StoredValues &to) {
  std::vector<int64_t> shared;
  std::vector<std::string_view> rests;
  const auto taken = readDeltas(from, count, shared);
  if (!taken || !readLengths(from.subspan(*taken), count, rests))
    return false;
  constexpr uint64_t kMost = uint64_t(64) << 20;
  uint64_t bytes = 0, before = 0;
  for (size_t i = 0; i < count; ++i) {
    if (shared[i] < 0 || uint64_t(shared[i]) > before)
      return false;
    before = uint64_t(shared[i]) + rests[i].size();
    if (column.type == ParquetType::FixedBytes && before != column.fixedBytes)
      return false;
    if ((bytes += before) > kMost)
      return false;
  }
  to.held.reserve(bytes);
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = to.held.size();
    const std::string_view last = i ? to.texts.back() : std::string_view();
    const auto *prefix = reinterpret_cast<const std::byte *>(last.data());
    const auto *rest = reinterpret_cast<const std::byte *>(rests[i].data());
    to.held.insert(to.held.end(), prefix, prefix + shared[i]);
    to.held.insert(to.held.end(), rest, rest + rests[i].size());
    to.texts.push_back(textAt(to.held, begin, to.held.size() - begin));
  }
  return true;
}

bool readRunsOfBits(Bytes from, uint64_t count, StoredValues &to) {
  uint32_t size = 0;
  std::vector<uint32_t> bits;
  if (from.size() < sizeof size)
    return false;
  std::memcpy(&size, from.data(), sizeof size);
  if (size > from.size() - sizeof size ||
      !readRuns(from.subspan(sizeof size, size), 1, count, bits))
    return false;
  to.whole.insert(to.whole.end(), bits.begin(), bits.end());
  return true;
}

bool isInteger(const ParquetColumn &column) {
  return column.type == ParquetType::Int32 || column.type == ParquetType::Int64;
}

bool readDeltasOf(const ParquetColumn &column, Bytes from, uint64_t count,
                  StoredValues &to) {
  if (!readDeltas(from, count, to.whole))
    return false;
  if (column.type == ParquetType::Int32)
    for (int64_t &value : to.whole)
      value = int32_t(uint32_t(value));
  return true;
}

} // namespace

void StoredValues::clear() {
  whole.clear(), numbers.clear(), texts.clear(), held.clear();
}

bool readRuns(Bytes from, int width, uint64_t count,
              std::vector<uint32_t> &to) {
  const uint64_t wanted = to.size() + count;
  const size_t bytes = (size_t(width) + 7) / 8;
  for (size_t at = 0; to.size() < wanted;) {
    const auto head = varintAt(from, at);
    if (!head || *head < 2)
      return false;
    const uint64_t left = wanted - to.size();
    if (*head & 1) { // groups of 8, the last one filled up
      const uint64_t groups = std::min(*head >> 1, (left + 7) / 8);
      if (groups * uint64_t(width) > from.size() - at)
        return false;
      PackedBits bits(from.subspan(at));
      for (uint64_t i = std::min(left, groups * 8); i > 0; --i)
        to.push_back(uint32_t(bits.next(width)));
      at += groups * size_t(width);
      continue;
    }
    if (bytes > from.size() - at)
      return false;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value |= uint32_t(from[at++]) << 8 * i;
    to.insert(to.end(), std::min(left, *head >> 1), value);
  }
  return true;
}

Status readValues(int encoding, const ParquetColumn &column, Bytes from,
                  uint64_t count, StoredValues &to) {
  bool isWhole = false, isKnown = true;
  switch (encoding) {
  case 0:
    isWhole = readPlain(column, from, count, to);
    break;
  case 3:
    isKnown = column.type == ParquetType::Boolean;
    isWhole = isKnown && readRunsOfBits(from, count, to);
    break;
  case 5:
    isKnown = isInteger(column);
    isWhole = isKnown && readDeltasOf(column, from, count, to);
    break;
  case 6:
    isKnown = column.type == ParquetType::Bytes;
    isWhole = isKnown && readLengths(from, count, to.texts);
    break;
  case 7:
    isKnown = column.type == ParquetType::Bytes ||
              column.type == ParquetType::FixedBytes;
    isWhole = isKnown && readPrefixes(column, from, count, to);
    break;
  case 9:
    isWhole = readSplitStreams(column, from, count, to);
    break;
  default:
    isKnown = false;
  }
  if (!isKnown)
    return failed("its encoding, number {}, is not known", encoding);
  return isWhole ? Status() : failed("a page is damaged");
}

} // namespace dlc

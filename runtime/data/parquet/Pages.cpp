// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/Pages.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/base/process/Memory.h"
#include "runtime/data/parquet/Compression.h"
#include "runtime/data/parquet/Thrift.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <zlib.h>

namespace dlc {
namespace {

using Bytes = std::span<const std::byte>;

constexpr int64_t kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3;

Status damagedPage() { return failed("a page is damaged"); }

// A big-endian number of at most 16 bytes; none if it has more than 64 bits.
std::optional<int64_t> wholeOf(std::string_view bytes) {
  const int64_t sign = !bytes.empty() && (bytes[0] & 0x80) ? -1 : 0;
  auto value = uint64_t(sign);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i + 8 < bytes.size() && int8_t(bytes[i]) != sign)
      return std::nullopt;
    value = value << 8 | uint8_t(bytes[i]);
  }
  return (int64_t(value) < 0) == (sign < 0) ? std::optional(int64_t(value))
                                            : std::nullopt;
}

// Both are exact as doubles, so that their quotient is rounded once.
double decimalOf(int64_t digits, int scale) {
  constexpr std::array kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  return double(digits) / kPowers[size_t(scale)];
}

} // namespace

// Its header, with those of each kind of page in one.
struct PageReader::PageHead {
  int64_t type = -1, bytes = 0, stored = 0, entries = 0, encoding = 0;
  int64_t definitionEncoding = 3, repetitionEncoding = 3;
  int64_t definitionBytes = 0, repetitionBytes = 0; // of kDataV2
  bool isCompressed = true;
  std::optional<uint32_t> crc;
  Bytes content;
};

PageReader::PageReader(const ParquetFile &file, size_t column, size_t group)
    : file_(file), column_(file.columns[column]),
      chunk_(file.groups[group].chunks[column]), at_(chunk_.begin),
      left_(chunk_.values) {}

Result<bool> PageReader::next(ColumnPage &to) {
  auto found = nextOf(to);
  if (found)
    return found;
  return found.status().withContext(fmt::format(
      "'{}': column '{}'", file_.file.path(), printable(column_.name)));
}

Result<bool> PageReader::nextOf(ColumnPage &to) {
  while (left_ > 0) {
    DLC_ASSIGN(const PageHead head, readHead());
    switch (head.type) {
    case kIndex:
      break;
    case kDictionary:
      DLC_TRY(readDictionary(head));
      break;
    case kData:
    case kDataV2:
      if (head.entries < 1 || uint64_t(head.entries) > left_)
        return damagedPage();
      left_ -= uint64_t(head.entries);
      DLC_TRY(readPage(head, to));
      return true;
    default:
      return failed("it has pages of a kind that is not known, number {}",
                    head.type);
    }
  }
  return false;
}

Result<PageReader::PageHead> PageReader::readHead() {
  const Bytes rest =
      file_.file.bytes().subspan(at_, chunk_.begin + chunk_.size - at_);
  ThriftReader reader(rest);
  PageHead head;
  reader.eachField([&](int16_t id, ThriftType type) {
    if (id == 1)
      head.type = reader.integer(type);
    else if (id == 2)
      head.bytes = reader.integer(type);
    else if (id == 3)
      head.stored = reader.integer(type);
    else if (id == 4)
      head.crc = uint32_t(reader.integer(type));
    else if ((id == 5 || id == 7 || id == 8) && type == ThriftType::Struct)
      reader.eachField([&](int16_t field, ThriftType of) {
        if (field == 1)
          head.entries = reader.integer(of);
        else if (field == (id == 8 ? 4 : 2))
          head.encoding = reader.integer(of);
        else if (id == 5 && field == 3)
          head.definitionEncoding = reader.integer(of);
        else if (id == 5 && field == 4)
          head.repetitionEncoding = reader.integer(of);
        else if (id == 8 && field == 5)
          head.definitionBytes = reader.integer(of);
        else if (id == 8 && field == 6)
          head.repetitionBytes = reader.integer(of);
        else if (id == 8 && field == 7)
          head.isCompressed = reader.boolean(of);
        else
          reader.skip(of);
      });
    else
      reader.skip(type);
  });
  if (!reader.ok() || head.stored < 0 || head.bytes < 0 ||
      uint64_t(head.stored) > rest.size() - reader.taken())
    return damagedPage();
  // Indices, levels and values of entries beside what is compressed.
  constexpr int64_t kMostPage = 16 << 20, kMostEntries = 2 << 20;
  if (head.bytes > kMostPage + 32 * head.stored ||
      head.entries > kMostEntries + 4 * head.stored)
    return failed("it has a page of {} bytes and {} entries in {} bytes: write "
                  "smaller ones",
                  head.bytes, head.entries, head.stored);
  DLC_TRY(file_.decode(uint64_t(head.bytes) +
                       uint64_t(std::max<int64_t>(head.entries, 0)) *
                           (8 + 8 * uint64_t(column_.mostRepetition))));
  head.content = rest.subspan(reader.taken(), size_t(head.stored));
  at_ += reader.taken() + head.content.size();
  if (head.crc &&
      *head.crc !=
          ::crc32_z(0, reinterpret_cast<const Bytef *>(head.content.data()),
                    head.content.size()))
    return failed("a page is damaged: its checksum is another");
  return head;
}

Status PageReader::readDictionary(const PageHead &head) {
  if (head.entries < 0)
    return damagedPage();
  DLC_TRY(checkMemory(uint64_t(head.bytes), "a page of a Parquet file"));
  dictionaryPage_.resize(size_t(head.bytes));
  DLC_TRY(decompress(chunk_.codec, head.content, dictionaryPage_));
  dictionary_.clear();
  // PLAIN, by its old name, too.
  DLC_TRY(readValues(head.encoding == 2 ? 0 : int(head.encoding), column_,
                     dictionaryPage_, uint64_t(head.entries), dictionary_));
  DLC_TRY(file_.decode(dictionary_.held.size()));
  return interpret(dictionary_);
}

Status PageReader::readPage(const PageHead &head, ColumnPage &to) {
  // What a few bytes claim may be much: an index and two levels each.
  DLC_TRY(checkMemory(uint64_t(head.bytes) + uint64_t(head.entries) * 24,
                      "a page of a Parquet file"));
  to.entries = uint64_t(head.entries);
  to.repetition.clear(), to.definition.clear(), to.values.clear();
  // Of the newer kind of page levels stand before what is compressed.
  size_t before = 0;
  if (head.type == kDataV2) {
    const int64_t most = std::min(head.stored, head.bytes);
    if (head.definitionBytes < 0 || head.definitionBytes > most ||
        head.repetitionBytes < 0 ||
        head.repetitionBytes > most - head.definitionBytes)
      return damagedPage();
    before = size_t(head.definitionBytes + head.repetitionBytes);
  }
  page_.resize(size_t(head.bytes));
  std::copy_n(head.content.begin(), before, page_.begin());
  const Bytes stored = head.content.subspan(before);
  const std::span<std::byte> values = std::span(page_).subspan(before);
  if (!stored.empty() || !values.empty())
    DLC_TRY(decompress(head.isCompressed ? chunk_.codec : 0, stored, values));
  Bytes rest = page_;
  DLC_TRY(readLevels(head, rest, to));
  return readData(head, rest, to);
}

Status PageReader::readLevels(const PageHead &head, Bytes &rest,
                              ColumnPage &to) {
  const auto read = [&](int most, int64_t encoding, int64_t given,
                        std::vector<uint32_t> &levels) -> Status {
    uint32_t size = uint32_t(given);
    if (head.type != kDataV2) {
      if (most == 0)
        return {};
      if (encoding != 3)
        return failed("its levels are of an old encoding, number {}", encoding);
      if (rest.size() < sizeof size)
        return damagedPage();
      std::memcpy(&size, rest.data(), sizeof size);
      rest = rest.subspan(sizeof size);
    }
    if (size > rest.size())
      return damagedPage();
    if (most > 0 && !readRuns(rest.first(size), std::bit_width(unsigned(most)),
                              to.entries, levels))
      return damagedPage();
    rest = rest.subspan(size);
    return std::any_of(levels.begin(), levels.end(),
                       [&](uint32_t level) { return level > uint32_t(most); })
               ? damagedPage()
               : Status();
  };
  DLC_TRY(read(column_.mostRepetition, head.repetitionEncoding,
               head.repetitionBytes, to.repetition));
  return read(column_.mostDefinition, head.definitionEncoding,
              head.definitionBytes, to.definition);
}

Status PageReader::readData(const PageHead &head, Bytes from, ColumnPage &to) {
  const uint64_t count =
      to.definition.empty()
          ? to.entries
          : uint64_t(std::count(to.definition.begin(), to.definition.end(),
                                column_.mostDefinition));
  constexpr int64_t kOldDictionary = 2, kDictionaryIndices = 8;
  if (head.encoding != kOldDictionary && head.encoding != kDictionaryIndices) {
    DLC_TRY(readValues(int(head.encoding), column_, from, count, to.values));
    DLC_TRY(file_.decode(to.values.held.size()));
    return interpret(to.values);
  }
  if (count == 0)
    return {};
  std::vector<uint32_t> indices;
  if (from.empty() || int(from[0]) > 32 ||
      !readRuns(from.subspan(1), int(from[0]), count, indices))
    return damagedPage();
  const auto pick = [&](const auto &all, auto &some) {
    for (const uint32_t index : indices)
      if (index < all.size())
        some.push_back(all[index]);
  };
  pick(dictionary_.whole, to.values.whole);
  pick(dictionary_.numbers, to.values.numbers);
  pick(dictionary_.texts, to.values.texts);
  uint64_t bytes = 0; // a long one may be picked by every row
  for (const std::string_view text : to.values.texts)
    bytes += text.size();
  DLC_TRY(file_.decode(bytes));
  const size_t found = to.values.whole.size() + to.values.numbers.size() +
                       to.values.texts.size();
  return found == count ? Status() : damagedPage();
}

// What is stored as what it means.
Status PageReader::interpret(StoredValues &values) const {
  switch (column_.kind) {
  case ParquetKind::Unsigned:
    for (int64_t &value : values.whole) {
      if (column_.type == ParquetType::Int32)
        value = int64_t(uint32_t(value));
      else if (value < 0)
        return failed("{} is larger than a whole number of 64 bits with a sign",
                      uint64_t(value));
    }
    return {};
  case ParquetKind::Half:
    for (const std::string_view bytes : values.texts) {
      const auto bits = uint16_t(uint8_t(bytes[0]) | uint8_t(bytes[1]) << 8);
      values.numbers.push_back(double(fromF16(bits)));
    }
    values.texts.clear();
    return {};
  case ParquetKind::Decimal:
    for (const std::string_view bytes : values.texts) {
      const auto digits = wholeOf(bytes);
      if (!digits)
        return damagedPage();
      values.whole.push_back(*digits);
    }
    values.texts.clear();
    for (const int64_t digits : values.whole)
      values.numbers.push_back(decimalOf(digits, column_.scale));
    values.whole.clear();
    return {};
  default:
    return {};
  }
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/shards/Tar.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/ParseNumber.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace dlc {
namespace {

constexpr uint64_t kBlock = 512, kMaxText = 64 << 10;

std::string_view textOfField(const char *block, size_t at, size_t size) {
  return {block + at, strnlen(block + at, size)};
}

std::string_view withoutBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(' ');
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

// Octal digits between blanks, or GNU's binary form if the first bit is set.
std::optional<uint64_t> numberOfField(const char *block, size_t at,
                                      size_t size) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(block) + at;
  uint64_t value = 0;
  if (bytes[0] & 0x80) {
    for (size_t i = 0; i < size; ++i) {
      if (value >> 55)
        return std::nullopt;
      value = value << 8 | (i == 0 ? bytes[i] & 0x7fU : bytes[i]);
    }
    return value;
  }
  return asNumber<uint64_t>(withoutBlanks(textOfField(block, at, size)), 8);
}

bool isOfSum(const char *block) {
  constexpr size_t kSumAt = 148, kSumSize = 8;
  uint64_t sum = 0;
  int64_t asSigned = 0; // as some old writers
  for (size_t i = 0; i < kBlock; ++i) {
    const bool isSum = i >= kSumAt && i < kSumAt + kSumSize;
    sum += isSum ? ' ' : static_cast<unsigned char>(block[i]);
    asSigned += isSum ? ' ' : static_cast<signed char>(block[i]);
  }
  const auto wanted = numberOfField(block, kSumAt, kSumSize);
  return wanted && (*wanted == sum || int64_t(*wanted) == asSigned);
}

// A pax header, which describes the following member.
struct Pax {
  std::string path;
  std::optional<uint64_t> size;
};

// Parses records "LENGTH KEY=VALUE\n" with LENGTH that of the record.
Result<Pax> paxFrom(std::string_view text) {
  Pax pax;
  while (!text.empty()) {
    uint64_t length = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = uint64_t(end - text.data());
    if (error != std::errc() || length > text.size() || length < digits + 2 ||
        *end != ' ' || text[length - 1] != '\n')
      return failed("a pax header that is damaged");
    const std::string_view record =
        text.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == record.npos)
      return failed("a pax header that is damaged");
    const auto key = record.substr(0, equals),
               value = record.substr(equals + 1);
    if (key == "path")
      pax.path = value;
    if (key == "size") {
      pax.size = asNumber<uint64_t>(value);
      if (!pax.size)
        return failed("a pax header with a size that is not a number");
    }
    if (key.starts_with("GNU.sparse"))
      return failed("a sparse file, expected its plain content");
    text.remove_prefix(length);
  }
  return pax;
}

} // namespace

struct TarReader::Header {
  bool isEnd = false;
  char type = 0;
  std::string name;
  uint64_t offset = 0, size = 0;

  // Offset of the next header.
  uint64_t end() const {
    return offset + (size + kBlock - 1) / kBlock * kBlock;
  }
};

Result<TarReader::Header> TarReader::readHeader() {
  if (at_ >= archive_.size())
    return failed("it ends without the empty block at the end of an archive: "
                  "is the file truncated?");
  if (archive_.size() - at_ < kBlock)
    return failed("it ends within a header, at byte {}", at_);
  const char *block = reinterpret_cast<const char *>(archive_.data()) + at_;
  if (std::all_of(block, block + kBlock, [](char c) { return c == 0; })) {
    const auto rest = archive_.subspan(at_);
    const auto more = std::ranges::find_if(
        rest, [](std::byte b) { return b != std::byte{0}; });
    if (more != rest.end())
      return failed("it has data after its end, at byte {}: several archives "
                    "in one file?",
                    at_ + uint64_t(more - rest.begin()));
    Header end;
    end.isEnd = true;
    return end;
  }
  if (!isOfSum(block))
    return failed("no tar header at byte {}", at_);
  Header header;
  header.type = block[156];
  header.name = textOfField(block, 0, 100);
  if (std::memcmp(block + 257, "ustar\0", 6) == 0 && block[345] != 0)
    header.name =
        fmt::format("{}/{}", textOfField(block, 345, 155), header.name);
  const auto size = numberOfField(block, 124, 12);
  if (!size)
    return failed("'{}' has a size that is not a number",
                  printable(header.name));
  header.offset = at_ + kBlock;
  header.size = *size;
  return header;
}

Result<std::string> TarReader::textAt(const Header &header) const {
  if (header.size > kMaxText || header.size > archive_.size() - header.offset)
    return failed("'{}' claims {} bytes", printable(header.name), header.size);
  return std::string(reinterpret_cast<const char *>(archive_.data()) +
                         header.offset,
                     header.size);
}

Result<bool> TarReader::next(TarMember &member) {
  member = {};
  member.header = at_;
  Pax pax;
  std::string longName;
  for (;;) {
    DLC_ASSIGN(Header header, readHeader());
    if (header.isEnd)
      return false;
    if (header.type == 'x' || header.type == 'L') {
      DLC_ASSIGN(const std::string text, textAt(header));
      if (header.type == 'L') {
        longName = text.substr(0, text.find('\0'));
      } else {
        DLC_ASSIGN(pax, paxFrom(text));
      }
      at_ = header.end();
      continue;
    }
    if (!longName.empty())
      header.name = longName;
    if (!pax.path.empty())
      header.name = pax.path;
    header.size = pax.size.value_or(header.size);
    constexpr std::string_view kFiles("\0"
                                      "07",
                                      3),
        kOthers = "12S";
    if (kOthers.find(header.type) != kOthers.npos)
      return failed("'{}' is a {}, expected a file", printable(header.name),
                    header.type == 'S' ? "sparse file" : "link");
    if (header.size > archive_.size() - header.offset)
      return failed("it ends within '{}', which claims {} bytes",
                    printable(header.name), header.size);
    at_ = header.end();
    if (kFiles.find(header.type) != kFiles.npos) {
      member.name = std::move(header.name);
      member.offset = header.offset;
      member.size = header.size;
      return true;
    }
    member.header = at_;
    pax = {};
    longName.clear();
  }
}

} // namespace dlc

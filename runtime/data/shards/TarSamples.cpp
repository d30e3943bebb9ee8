// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/shards/TarSamples.h"

#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/data/DataFiles.h"
#include "runtime/data/pictures/Folder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

namespace dlc {
namespace {

namespace fs = std::filesystem;

struct TarMember {
  std::string name;
  uint64_t header = 0; // offset of its first header
  uint64_t offset = 0; // of its content
  uint64_t size = 0;   // of its content
};

// Iterates over an archive, which is untrusted: header checksums and all sizes
// are verified. Folders are skipped. Errors: links, sparse files and truncated
// archives. Errors name the member, not the archive.
class TarReader {
public:
  // `at` is the offset of a member's first header.
  explicit TarReader(std::span<const std::byte> archive, uint64_t at = 0)
      : archive_(archive), at_(at) {}

  // Reads the next file; false at the end.
  Result<bool> next(TarMember &member);

private:
  struct Header;
  Result<Header> readHeader();
  Result<std::string> textAt(const Header &header) const;

  std::span<const std::byte> archive_;
  uint64_t at_;
};

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

constexpr std::string_view kTar = ".tar";

struct ShardSample {
  uint64_t header = 0, offset = 0; // of the picture, in its shard
  uint32_t size = 0, shard = 0;
  int64_t label = -1;
};

class ShardPictures final : public Pictures {
public:
  using Pictures::labels_;
  std::string path;
  std::vector<std::shared_ptr<const MappedFile>> shards;
  std::vector<ShardSample> samples;

  std::string name() const override { return path; }
  int64_t count() const override { return int64_t(samples.size()); }
  std::string nameOf(int64_t index) const override {
    const ShardSample &sample = samples[size_t(index)];
    const MappedFile &shard = *shards[sample.shard];
    TarMember member;
    const auto found = TarReader(shard.bytes(), sample.header).next(member);
    return fmt::format("{}/{}", shard.path(),
                       found.ok() ? printable(member.name) : "?");
  }
  Result<SharedBytes> read(int64_t index) const override {
    const ShardSample &sample = samples[size_t(index)];
    const auto &shard = shards[sample.shard];
    return lentBytes(shard->bytes().subspan(sample.offset, sample.size), shard);
  }
  Result<std::string> hash() const override {
    Sha256 sum;
    const auto add = [&](const std::string &line) {
      sum.add(line.data(), line.size());
    };
    for (const auto &shard : shards)
      add(fmt::format("{} {}\n", shard->size(),
                      fs::path(shard->path()).filename().string()));
    for (const ShardSample &sample : samples)
      add(fmt::format("{} {}\n", sample.size, sample.label));
    return sum.digest();
  }
};

// "a/b.left.png" is sample b in a, with the extension "left.png".
std::pair<std::string, std::string> partsOf(const std::string &name) {
  const size_t slash = name.rfind('/');
  const size_t dot = name.find('.', slash == name.npos ? 0 : slash + 1);
  return dot == name.npos
             ? std::pair(name, std::string())
             : std::pair(name.substr(0, dot), name.substr(dot + 1));
}

// Groups the members of one archive to samples.
class ShardIndexer {
public:
  ShardIndexer(ShardPictures &all, std::span<const std::byte> bytes)
      : all_(all), bytes_(bytes) {}

  Status run() {
    TarReader reader(bytes_);
    for (TarMember member;;) {
      DLC_ASSIGN(const bool found, reader.next(member));
      if (!found)
        return finish();
      DLC_TRY(add(member));
    }
  }

private:
  Status add(const TarMember &member) {
    auto [key, part] = partsOf(member.name);
    if (!isOpen_ || key != key_) {
      DLC_TRY(finish());
      sample_ = {};
      sample_.shard = uint32_t(all_.shards.size() - 1);
      key_ = key, others_.clear(), isOpen_ = true;
    }
    if (part == "cls")
      return readClass(member);
    if (!isPictureName("." + part)) {
      others_ += (others_.empty() ? "." : ", .") + part;
      return {};
    }
    if (sample_.offset)
      return failed("sample '{}' has two pictures", printable(key_));
    if (member.size > kMaxPictureFile)
      return failed("'{}' has {} bytes, expected at most {}",
                    printable(member.name), member.size, kMaxPictureFile);
    sample_.header = member.header;
    sample_.offset = member.offset;
    sample_.size = uint32_t(member.size);
    return {};
  }

  Status readClass(const TarMember &member) {
    if (sample_.label >= 0)
      return failed("sample '{}' has two classes", printable(key_));
    constexpr uint64_t kMost = 32;
    std::string_view text(reinterpret_cast<const char *>(bytes_.data()) +
                              member.offset,
                          std::min(member.size, kMost));
    const size_t last = text.find_last_not_of(" \r\n");
    const std::string_view digits =
        text.substr(0, last == text.npos ? 0 : last + 1);
    sample_.label = asNumber<int64_t>(digits).value_or(-1);
    if (sample_.label < 0 || member.size > kMost)
      return failed("'{}' holds '{}', expected a class: a number from 0",
                    printable(member.name), printable(digits));
    return {};
  }

  Status finish() {
    if (!isOpen_)
      return {};
    if (!sample_.offset)
      return failed("sample '{}' has no picture, expected .jpg, .jpeg, .png or "
                    ".webp{}",
                    printable(key_),
                    others_.empty() ? "" : ", found " + printable(others_));
    all_.samples.push_back(sample_);
    isOpen_ = false;
    return {};
  }

  ShardPictures &all_;
  std::span<const std::byte> bytes_;
  ShardSample sample_;
  std::string key_, others_;
  bool isOpen_ = false;
};

// Either all samples have a class, or none.
Status settleLabels(ShardPictures &all) {
  const auto hasLabel = [](const ShardSample &s) { return s.label >= 0; };
  const auto labelled = std::ranges::count_if(all.samples, hasLabel);
  if (labelled == 0)
    return {};
  const auto without = std::ranges::find_if_not(all.samples, hasLabel);
  if (without != all.samples.end())
    return failed("'{}' has no class (.cls), but {} of {} samples have one",
                  all.nameOf(without - all.samples.begin()), labelled,
                  all.samples.size());
  for (const ShardSample &sample : all.samples)
    all.labels_.push_back(sample.label);
  return {};
}

// The archives in a folder; empty if it has other training data.
std::vector<std::string> shardsIn(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.'))
      continue;
    if (entry.is_directory(error) || isPictureName(name))
      return {};
    if (name.ends_with(kTar))
      found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

bool isCompressed(const std::string &path) {
  constexpr std::array kEndings = {".tar.gz", ".tgz", ".tar.xz", ".tar.zst"};
  return std::ranges::any_of(
      kEndings, [&](const char *ending) { return path.ends_with(ending); });
}

} // namespace

bool isShards(const std::string &path) {
  return path.ends_with(kTar) || isCompressed(path) ||
         (isFolder(path) && !shardsIn(path).empty());
}

// The archives of `path`, in order: those of a folder, or of a range
// (expandRange), which may be one file.
static Result<std::vector<std::string>> shardsOf(const std::string &path) {
  if (isFolder(path))
    return shardsIn(path);
  return expandRange(path);
}

Result<std::shared_ptr<const Pictures>> openShards(const std::string &path) {
  if (isCompressed(path))
    return failed("'{}' is compressed: unpack it to a .tar, in which samples "
                  "are read where they are",
                  path);
  DLC_ASSIGN(const auto shards, shardsOf(path));
  auto all = std::make_shared<ShardPictures>();
  all->path = path;
  for (const std::string &shard : shards) {
    DLC_ASSIGN(MappedFile file, MappedFile::open(shard));
    all->shards.push_back(std::make_shared<const MappedFile>(std::move(file)));
    const auto bytes = all->shards.back()->bytes();
    DLC_TRY(ShardIndexer(*all, bytes).run().withContext("'{}'", shard));
    releaseMapped(bytes.data(), bytes.size());
  }
  DLC_TRY(mappedFilesStatus());
  if (all->samples.empty())
    return failed("'{}' has no samples", path);
  DLC_TRY(settleLabels(*all));
  return all;
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Zip.h"

#include "runtime/base/numbers/Checked.h"
#include "runtime/base/process/Granted.h"

#include <cstring>
#include <zlib.h>

namespace dlc {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50,
                   kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr uint32_t kAll32 = 0xffffffff;
constexpr uint16_t kZip64Extra = 1, kEncrypted = 1;

// Limit on the total size of inflated members: these bytes, or this multiple of
// the file's size. Data with a higher ratio has little information.
constexpr uint64_t kMaxInflated = 96 << 20, kMaxRatio = 48;

using Bytes = std::span<const std::byte>;

template <class T> T load(Bytes bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool isInside(Bytes bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

bool hasSignature(Bytes bytes, uint64_t at, uint32_t signature, uint64_t size) {
  return isInside(bytes, at, size) && load<uint32_t>(bytes, at) == signature;
}

// Offset of the end record, which a comment of any length may follow.
std::optional<size_t> findEnd(Bytes bytes) {
  constexpr size_t kSize = 22, kMaxComment = 65535;
  if (bytes.size() < kSize)
    return std::nullopt;
  size_t last = bytes.size() - kSize;
  size_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (size_t at = last + 1; at-- > first;)
    if (load<uint32_t>(bytes, at) == kEnd &&
        at + kSize + load<uint16_t>(bytes, at + 20) == bytes.size())
      return at;
  return std::nullopt;
}

// Values of a zip64 extra field replace, in this order, fields of all ones.
void readZip64(Bytes extra, std::initializer_list<uint64_t *> values) {
  while (extra.size() >= 4) {
    size_t size = load<uint16_t>(extra, 2);
    if (size > extra.size() - 4)
      return;
    Bytes field = extra.subspan(4, size);
    if (load<uint16_t>(extra, 0) == kZip64Extra) {
      for (uint64_t *value : values) {
        if (*value != kAll32 || field.size() < 8)
          continue;
        *value = load<uint64_t>(field, 0);
        field = field.subspan(8);
      }
      return;
    }
    extra = extra.subspan(4 + size);
  }
}

uint32_t checksum(Bytes bytes) {
  return uint32_t(::crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()),
                            bytes.size()));
}

// Inflates `size` bytes, or returns null; with `isAll` there must be no more.
std::shared_ptr<std::vector<std::byte>> inflateTo(Bytes from, uint64_t size,
                                                  bool isAll) {
  // Deflate's maximum ratio is 1032: a higher one is an error or a zip bomb.
  if (size / 1040 > from.size() + 1)
    return nullptr;
  auto content = std::make_shared<std::vector<std::byte>>(size);
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return nullptr;
  size_t read = 0, written = 0;
  int state = Z_OK;
  while (state == Z_OK && (isAll || written < size)) {
    constexpr size_t kPiece = 1 << 30;
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<std::byte *>(from.data() + read));
    stream.avail_in = static_cast<uInt>(std::min(from.size() - read, kPiece));
    stream.next_out = reinterpret_cast<Bytef *>(content->data() + written);
    stream.avail_out =
        static_cast<uInt>(std::min<uint64_t>(size - written, kPiece));
    uInt in = stream.avail_in, out = stream.avail_out;
    state = ::inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  ::inflateEnd(&stream);
  const bool ended = state == Z_STREAM_END || (!isAll && state == Z_OK);
  return ended && written == size ? content : nullptr;
}

} // namespace

Result<ZipFile> ZipFile::open(const std::string &path) {
  ZipFile zip;
  DLC_ASSIGN(MappedFile file, MappedFile::open(path));
  zip.file_ = std::make_shared<const MappedFile>(std::move(file));
  DLC_TRY(zip.readDirectory().withContext("'{}'", path));
  return zip;
}

Status ZipFile::readDirectory() {
  Bytes bytes = file_->bytes();
  std::optional<size_t> end = findEnd(bytes);
  if (!end)
    return failed("is not an npz (zip) file, or is truncated");
  uint64_t count = load<uint16_t>(bytes, *end + 10);
  uint64_t size = load<uint32_t>(bytes, *end + 12);
  uint64_t at = load<uint32_t>(bytes, *end + 16);
  if (*end >= 20 && hasSignature(bytes, *end - 20, kLocator64, 20)) {
    uint64_t record = load<uint64_t>(bytes, *end - 12);
    if (!hasSignature(bytes, record, kEnd64, 56))
      return failed("its zip64 directory is damaged");
    count = load<uint64_t>(bytes, record + 32);
    size = load<uint64_t>(bytes, record + 40);
    at = load<uint64_t>(bytes, record + 48);
  }
  if (!isInside(bytes, at, size))
    return failed("is truncated");
  Bytes directory = bytes.subspan(at, size);
  for (uint64_t i = 0; i < count; ++i) {
    if (!hasSignature(directory, 0, kCentral, 46))
      return failed("its directory is damaged at entry {}", i);
    size_t nameSize = load<uint16_t>(directory, 28);
    size_t extraSize = load<uint16_t>(directory, 30);
    size_t commentSize = load<uint16_t>(directory, 32);
    if (!isInside(directory, 46, nameSize + extraSize + commentSize))
      return failed("its directory is damaged at entry {}", i);
    Entry entry;
    entry.flags = load<uint16_t>(directory, 8);
    entry.method = load<uint16_t>(directory, 10);
    entry.crc = load<uint32_t>(directory, 16);
    entry.compressed = load<uint32_t>(directory, 20);
    entry.size = load<uint32_t>(directory, 24);
    entry.offset = load<uint32_t>(directory, 42);
    entry.name.assign(reinterpret_cast<const char *>(directory.data()) + 46,
                      nameSize);
    readZip64(directory.subspan(46 + nameSize, extraSize),
              {&entry.size, &entry.compressed, &entry.offset});
    // Readers differ in which member of a name they use.
    if (!index_.emplace(entry.name, entries_.size()).second)
      return failed("holds '{}' twice", entry.name);
    entries_.push_back(std::move(entry));
    directory = directory.subspan(46 + nameSize + extraSize + commentSize);
  }
  return checkInflated();
}

// Checks the sizes in the directory; members of other sizes are damaged.
Status ZipFile::checkInflated() const {
  const uint64_t most =
      std::max<uint64_t>(kMaxInflated, kMaxRatio * file_->bytes().size());
  uint64_t total = 0;
  for (const Entry &entry : entries_)
    if (entry.method != 0) {
      if (entry.size > most - total)
        return failed("its compressed arrays take more than {} MiB of memory, "
                      "{} times the file; write them uncompressed (np.savez)",
                      most >> 20, kMaxRatio);
      total += entry.size;
    }
  return {};
}

std::vector<std::string> ZipFile::names() const {
  std::vector<std::string> names;
  for (const Entry &entry : entries_)
    names.push_back(entry.name);
  return names;
}

const ZipFile::Entry *ZipFile::find(const std::string &name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Result<Bytes> ZipFile::content(const Entry &entry) const {
  Bytes bytes = file_->bytes();
  if (entry.flags & kEncrypted)
    return failed("is encrypted");
  if (!hasSignature(bytes, entry.offset, kLocal, 30))
    return failed("its header is damaged");
  Bytes name = bytes.subspan(entry.offset + 30);
  if (name.size() < entry.name.size() ||
      load<uint16_t>(bytes, entry.offset + 26) != entry.name.size() ||
      std::memcmp(name.data(), entry.name.data(), entry.name.size()) != 0)
    return failed("its header has another name");
  uint64_t start = entry.offset + 30 +
                   load<uint16_t>(bytes, entry.offset + 26) +
                   load<uint16_t>(bytes, entry.offset + 28);
  if (!isInside(bytes, start, entry.compressed))
    return failed("is truncated");
  return bytes.subspan(start, entry.compressed);
}

Result<SharedBytes> ZipFile::extract(const Entry &entry, uint64_t size) const {
  DLC_ASSIGN(const Bytes stored, content(entry));
  if (entry.method == 0 && entry.size == entry.compressed)
    return SharedBytes{stored.first(size), file_};
  if (entry.method != 8)
    return failed("compression method {} is not supported", entry.method);
  DLC_TRY(checkMemory(size, "what is compressed in the file"));
  auto inflated = inflateTo(stored, size, size == entry.size);
  if (!inflated)
    return failed("its compressed data is damaged");
  return SharedBytes{*inflated, inflated};
}

Result<SharedBytes> ZipFile::read(const std::string &name,
                                  std::optional<uint64_t> first) const {
  const Entry *entry = find(name);
  if (!entry)
    return failed("'{}' has no '{}'", file_->path(), name);
  auto result = extract(*entry, std::min(first.value_or(-1), entry->size));
  if (result && !first && checksum(result->bytes) != entry->crc)
    result = failed("its checksum is wrong: the file is damaged");
  return std::move(result).withContext("'{}': '{}'", file_->path(), name);
}

uint64_t ZipFile::sizeOf(const std::string &name) const {
  const Entry *entry = find(name);
  return entry ? entry->size : 0;
}

namespace {

template <class T> void put(std::string &to, T value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

// Fields shared by local and central headers, from "version needed" on. Sizes
// are always in a zip64 extra field, as in numpy's files.
void putCommon(std::string &to, const ZipMember &member, uint32_t crc,
               uint16_t extraSize) {
  put<uint16_t>(to, 45);
  put<uint16_t>(to, 0);
  put<uint16_t>(to, 0); // stored
  put<uint16_t>(to, 0);
  put<uint16_t>(to, 0x21); // 1980-01-01: makes the file reproducible
  put<uint32_t>(to, crc);
  put<uint32_t>(to, kAll32);
  put<uint32_t>(to, kAll32);
  put<uint16_t>(to, uint16_t(member.name.size()));
  put<uint16_t>(to, extraSize);
}

} // namespace

std::string makeZip(const std::vector<ZipMember> &members) {
  std::string zip, directory;
  for (const ZipMember &member : members) {
    uint64_t offset = zip.size(), size = member.content.size();
    uint32_t crc = checksum(std::as_bytes(std::span(member.content)));
    put(zip, kLocal);
    putCommon(zip, member, crc, 20);
    zip += member.name;
    put(zip, kZip64Extra), put<uint16_t>(zip, 16), put(zip, size),
        put(zip, size);
    zip += member.content;
    put(directory, kCentral);
    put<uint16_t>(directory, 45);
    putCommon(directory, member, crc, 28);
    directory.append(10, 0); // no comment, disk 0, attributes
    put(directory, kAll32);
    directory += member.name;
    put(directory, kZip64Extra), put<uint16_t>(directory, 24);
    put(directory, size), put(directory, size), put(directory, offset);
  }
  uint64_t start = zip.size(), count = members.size();
  uint64_t directorySize = directory.size();
  zip += directory;
  uint64_t end = zip.size();
  put(zip, kEnd64), put<uint64_t>(zip, 44);
  put<uint16_t>(zip, 45), put<uint16_t>(zip, 45);
  put<uint64_t>(zip, 0); // disks
  put(zip, count), put(zip, count), put(zip, directorySize), put(zip, start);
  put(zip, kLocator64), put<uint32_t>(zip, 0), put(zip, end),
      put<uint32_t>(zip, 1);
  put(zip, kEnd), put<uint32_t>(zip, 0);
  put<uint16_t>(zip, 0xffff), put<uint16_t>(zip, 0xffff);
  put(zip, kAll32), put(zip, kAll32), put<uint16_t>(zip, 0);
  return zip;
}

} // namespace dlc

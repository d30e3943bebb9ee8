// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/Files.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/files/WriteAll.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

// Closes a descriptor at the end of a scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

} // namespace

Status systemError(std::string_view action, std::string_view path) {
  return failed("cannot {} '{}': {}", action, path, std::strerror(errno));
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  DLC_ASSIGN(const OpenFile opened, openToRead(path));
  const Descriptor file{opened.descriptor};
  MappedFile mapped;
  mapped.path_ = path;
  if (opened.size == 0)
    return mapped;
  DLC_ASSIGN(mapped.data_, mapFile(file.value, opened.size, path));
  mapped.size_ = opened.size;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_)
    unmapFile(data_, size_);
}

void MappedFile::swap(MappedFile &other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
}

Result<std::string> readFile(const std::string &path, uint64_t limit) {
  DLC_ASSIGN(MappedFile file, MappedFile::open(path));
  if (file.size() > limit)
    return limitExceeded("'{}' has {} bytes, expected at most {}", path,
                         file.size(), limit);
  std::string text(file.text());
  DLC_TRY(mappedFilesStatus());
  return text;
}

Result<FileWriter> FileWriter::create(const std::string &path) {
  int file = ::open(path.c_str(),
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0)
    return systemError("create", path);
  return FileWriter(file, path);
}

FileWriter::FileWriter(FileWriter &&other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), direct_(other.direct_),
      written_(other.written_), path_(std::move(other.path_)) {}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Status FileWriter::error(uint64_t size) const {
  std::string reason = std::strerror(errno);
  return failed("cannot write {} bytes at {} of '{}': {}", size, written_,
                path_, reason);
}

// Upper bound of the alignment that O_DIRECT requires of offsets, sizes and
// addresses.
static constexpr uint64_t kDirectBlock = 4096, kDirectChunk = 4 << 20;

Status FileWriter::write(const void *data, uint64_t size) {
  auto *next = static_cast<const char *>(data);
  if (direct_ && size >= kDirectChunk) {
    const uint64_t head =
        (kDirectBlock - written_ % kDirectBlock) % kDirectBlock;
    DLC_TRY(writeCached(next, head));
    DLC_ASSIGN(const uint64_t body, writePastCache(next + head, size - head));
    next += head + body;
    size -= head + body;
  }
  return writeCached(next, size);
}

// The number of bytes written directly, in whole blocks: 0 if the file system
// does not support it.
Result<uint64_t> FileWriter::writePastCache(const char *data, uint64_t size) {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  const std::unique_ptr<void, void (*)(void *)> block(
      std::aligned_alloc(kDirectBlock, kDirectChunk), std::free);
  if (flags < 0 || !block ||
      ::fcntl(descriptor_, F_SETFL, flags | O_DIRECT) != 0)
    return uint64_t(0);
  uint64_t done = 0;
  Status status;
  while (status.ok() && size - done >= kDirectBlock) {
    const uint64_t wanted =
        std::min(kDirectChunk, (size - done) / kDirectBlock * kDirectBlock);
    std::memcpy(block.get(), data + done, wanted);
    const ssize_t count = ::write(descriptor_, block.get(), wanted);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EINVAL)
      break;
    if (count < 0)
      status = error(size - done);
    else
      written_ += uint64_t(count), done += uint64_t(count);
    if (uint64_t(count) % kDirectBlock != 0)
      break; // almost full disk; the rest reports it
  }
  ::fcntl(descriptor_, F_SETFL, flags);
  DLC_TRY(status);
  return done;
}

Status FileWriter::writeCached(const char *next, uint64_t size) {
  const size_t done = writeAll(descriptor_, {next, size});
  written_ += done;
  return done == size ? Status() : error(size - done);
}

Status FileWriter::sync() {
  DLC_TRY(mappedFilesStatus()); // lost pages would be written as zeros
  if (::fsync(descriptor_) != 0)
    return error(written_);
  int file = std::exchange(descriptor_, -1);
  return ::close(file) == 0 ? Status() : error(written_);
}

Status writeNewFile(const std::string &path, std::string_view content) {
  DLC_ASSIGN(FileWriter file, FileWriter::create(path));
  DLC_TRY(file.write(content));
  return file.sync();
}

Status syncFolder(const std::string &path) {
  Descriptor folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.value < 0)
    return systemError("open", path);
  // Some file systems cannot sync folders (EINVAL), and do not need to.
  if (::fsync(folder.value) != 0 && errno != EINVAL)
    return systemError("sync", path);
  return {};
}

bool exists(const std::string &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool isFolder(const std::string &path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string_view kindOfFile(const std::string &path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0)
    return "";
  switch (info.st_mode & S_IFMT) {
  case S_IFREG:
    return "a file";
  case S_IFDIR:
    return "a folder";
  case S_IFLNK:
    return "a symbolic link";
  case S_IFIFO:
    return "a FIFO";
  case S_IFSOCK:
    return "a socket";
  default:
    return "a device";
  }
}

Status makeFolder(const std::string &path, uint32_t mode) {
  for (size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), mode) == 0)
      continue;
    const Status status = systemError("create", part);
    if (!isFolder(part))
      return status;
  }
  return {};
}

std::string parentOf(const std::string &path) {
  const std::string parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

} // namespace dlc

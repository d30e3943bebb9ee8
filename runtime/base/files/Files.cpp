// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/Files.h"

#include "runtime/base/files/MappedFile.h"

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

Status systemError(std::string_view action, std::string_view path) {
  return failed("cannot {} '{}': {}", action, path, std::strerror(errno));
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  DLC_ASSIGN(const OpenFile opened, openToRead(path));
  MappedFile mapped;
  mapped.path_ = path;
  if (opened.size == 0)
    return mapped;
  DLC_ASSIGN(mapped.data_, mapFile(opened.file.number(), opened.size, path));
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

size_t writeAll(int descriptor, std::string_view data) {
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t count =
        ::write(descriptor, data.data() + done, data.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += size_t(count);
  }
  return done;
}

Result<FileWriter> FileWriter::create(const std::string &path) {
  Descriptor file(::open(path.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0666));
  if (!file)
    return systemError("create", path);
  return FileWriter(std::move(file), path);
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
  const int file = descriptor_.number(), flags = ::fcntl(file, F_GETFL);
  const std::unique_ptr<void, void (*)(void *)> block(
      std::aligned_alloc(kDirectBlock, kDirectChunk), std::free);
  if (flags < 0 || !block || ::fcntl(file, F_SETFL, flags | O_DIRECT) != 0)
    return uint64_t(0);
  uint64_t done = 0;
  Status status;
  while (status.ok() && size - done >= kDirectBlock) {
    const uint64_t wanted =
        std::min(kDirectChunk, (size - done) / kDirectBlock * kDirectBlock);
    std::memcpy(block.get(), data + done, wanted);
    const ssize_t count = ::write(file, block.get(), wanted);
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
  ::fcntl(file, F_SETFL, flags);
  DLC_TRY(status);
  return done;
}

Status FileWriter::writeCached(const char *next, uint64_t size) {
  const size_t done = writeAll(descriptor_.number(), {next, size});
  written_ += done;
  return done == size ? Status() : error(size - done);
}

Status FileWriter::sync() {
  DLC_TRY(mappedFilesStatus()); // lost pages would be written as zeros
  if (::fsync(descriptor_.number()) != 0 || !descriptor_.close())
    return error(written_);
  return {};
}

Status writeNewFile(const std::string &path, std::string_view content) {
  DLC_ASSIGN(FileWriter file, FileWriter::create(path));
  DLC_TRY(file.write(content));
  return file.sync();
}

static Status notKind(const std::string &path, std::string_view expected) {
  return failed("'{}' is {}, expected {}", path, kindOfFile(path), expected);
}

Result<Descriptor> openOwnFile(const std::string &path, int flags) {
  Descriptor file(
      ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  struct stat found {};
  if (!file) {
    const Status status = systemError("open", path);
    return kindOfFile(path) == "a symbolic link" ? notKind(path, "a file")
                                                 : status;
  }
  const bool isPlain =
      ::fstat(file.number(), &found) == 0 && S_ISREG(found.st_mode);
  if (isPlain && found.st_nlink <= 1)
    return file;
  if (!isPlain)
    return notKind(path, "a file");
  {
    DLC_ASSIGN(const MappedFile content, MappedFile::open(path));
    DLC_TRY(writeFileAtomically(path, content.text()));
  }
  return openOwnFile(path, flags);
}

Status makeOwnFolder(const std::string &path) {
  const Status made = makeFolder(path);
  return kindOfFile(path) == "a symbolic link" ? notKind(path, "a folder")
                                               : made;
}

Status syncFolder(const std::string &path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder)
    return systemError("open", path);
  // Some file systems cannot sync folders (EINVAL), and do not need to.
  if (::fsync(folder.number()) != 0 && errno != EINVAL)
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
  return kindOfFile(info.st_mode);
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

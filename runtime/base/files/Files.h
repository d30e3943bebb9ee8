// SPDX-License-Identifier: Apache-2.0
// Read-only mapped files, and new files. Atomic.h replaces files and folders.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dlc {

// A whole file, mapped read-only. Views are valid as long as this object.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(data_), size_};
  }
  uint64_t size() const { return size_; }
  const std::string &path() const { return path_; }

private:
  void swap(MappedFile &other) noexcept;

  const std::byte *data_ = nullptr;
  uint64_t size_ = 0;
  std::string path_;
};

// The file's content; Code::Limit if it has more than `limit` bytes.
Result<std::string> readFile(const std::string &path,
                             uint64_t limit = uint64_t(1) << 30);

// A new file, written in order. Errors name the path and the bytes wanted.
class FileWriter {
public:
  // Fails if anything, even a link, has that name. The umask applies.
  static Result<FileWriter> create(const std::string &path);

  // The content is complete only after sync().
  Status write(const void *data, uint64_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }
  // From now on large writes bypass the page cache if the file system supports
  // it: for files that will not be read soon, to save memory and time.
  void bypassCache() { direct_ = true; }
  Status sync(); // waits for the disk; no call may follow

  uint64_t written() const { return written_; }

private:
  friend class AtomicFile;
  FileWriter(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  Status error(uint64_t size) const;
  Status writeCached(const char *data, uint64_t size);
  Result<uint64_t> writePastCache(const char *data, uint64_t size);

  Descriptor descriptor_;
  bool direct_ = false;
  uint64_t written_ = 0;
  std::string path_;
};

// Writes and syncs a new file, for an AtomicDirectory.
Status writeNewFile(const std::string &path, std::string_view content);

// Replaces `path` with `content` atomically, and syncs file and folder. Only
// plain files are replaced, and their permissions kept; folders, links, FIFOs
// and devices are errors.
Status writeFileAtomically(const std::string &path, std::string_view content);

// Writes all of `data` to a file descriptor, in several calls where one is
// interrupted or writes less. Returns the number of bytes written: if it is
// less than all, errno has the reason.
size_t writeAll(int descriptor, std::string_view data);

// Files that a program writes in place in its own folder, such as a run's
// folder. A link in it could lead to another user's file, so nothing is opened,
// created or truncated through a link.

// A plain file, opened with the `flags` of open(2) (O_WRONLY, O_APPEND, O_CREAT
// ...); the caller closes the descriptor. Fails if a link or anything else has
// the name. A file with a second name (a hard link) is replaced by a copy
// first: the other name keeps the content.
Result<Descriptor> openOwnFile(const std::string &path, int flags);

// Creates the folder if it does not exist. Fails if a link has the name.
Status makeOwnFolder(const std::string &path);

// Makes earlier renames and removals in a folder durable.
Status syncFolder(const std::string &path);

bool exists(const std::string &path); // false for a dangling link
bool isFolder(const std::string &path);

// The kind of file: "a file", "a folder", "a symbolic link", "a FIFO", "a
// socket", "a device", or "" if there is none. Links are not followed.
std::string_view kindOfFile(const std::string &path);

// Also creates missing parents; `mode` is for new folders.
Status makeFolder(const std::string &path, uint32_t mode = 0777);

// "runs" for "runs/a", "." for "a". The path must not end in a slash.
std::string parentOf(const std::string &path);

// "cannot open 'path': No such file or directory", from errno.
Status systemError(std::string_view action, std::string_view path);

} // namespace dlc

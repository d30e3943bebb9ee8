// Files that are read by mapping and written so that a crash leaves the old or
// the new content, never a torn one.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dlc {

// A whole file, mapped read-only. Views into it live as long as it does.
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
  static Result<FileWriter> create(const std::string &path);

  FileWriter(FileWriter &&other) noexcept;
  FileWriter &operator=(FileWriter &&) = delete;
  ~FileWriter(); // closes; the content is complete only after sync()

  Status write(const void *data, uint64_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }
  Status sync(); // everything is on the disk; nothing may follow

  uint64_t written() const { return written_; }

private:
  FileWriter(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  Status error(uint64_t size) const;

  int descriptor_;
  uint64_t written_ = 0;
  std::string path_;
};

// Writes and syncs a file in place: for new files inside an AtomicDirectory.
Status writeNewFile(const std::string &path, std::string_view content);

// Replaces `path` with `content` in one step, and syncs file and folder.
Status writeFileAtomically(const std::string &path, std::string_view content);

// A folder that appears complete or not at all. Fill folder(), then commit().
// An existing folder of that name is exchanged in one step, then removed.
class AtomicDirectory {
public:
  // Also removes what dead processes left of earlier attempts at `path`.
  static Result<AtomicDirectory> create(const std::string &path);

  AtomicDirectory(AtomicDirectory &&other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::exchange(other.temporary_, {})) {}
  ~AtomicDirectory(); // removes the unfinished folder

  const std::string &folder() const { return temporary_; }
  Status commit(); // files in it must be synced already
  // As commit(), but false if the name was taken meanwhile: a folder that holds
  // something stays as it is, and this one is unfinished.
  Result<bool> commitIfFree();

private:
  AtomicDirectory(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_; // empty once committed
};

// Removes `<path>.tmp-<pid>` of processes that no longer run.
void removeStale(const std::string &path);

// Makes earlier renames and removals in a folder durable.
Status syncFolder(const std::string &path);

bool exists(const std::string &path);
bool isFolder(const std::string &path);

// Folders on the way are made as well.
Status makeFolder(const std::string &path);

// "cannot open 'path': No such file or directory", from errno.
Status systemError(std::string_view action, std::string_view path);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Files and folders that appear atomically, and temporary folders.
//
// Until complete, each has a temporary name: NAME.tmp- and 20 digits, the last
// 8 of which are a checksum of the rest of the name. Its creator holds a lock
// (flock) on it. A file with such a name and no lock was left by a dead
// process, in whatever namespace; the next process that creates one in that
// folder removes it. Nothing else is ever removed.
#pragma once

#include "runtime/base/files/Files.h"
#include "runtime/base/files/Leftovers.h"

#include <string>

namespace dlc {

// A locked file or folder with a temporary name. Removed by the destructor,
// unless released.
class Unfinished {
public:
  enum class Kind { File, Folder };

  // Creates an empty one in `parent`, with permissions by `mode` and umask.
  static Result<Unfinished> create(Kind kind, const std::string &parent,
                                   const std::string &name, uint32_t mode);

  Unfinished(Unfinished &&other) noexcept
      : path_(std::exchange(other.path_, {})),
        descriptor_(std::move(other.descriptor_)),
        leftover_(std::move(other.leftover_)) {}
  Unfinished &operator=(Unfinished &&) = delete;
  ~Unfinished();

  const std::string &path() const { return path_; }
  int descriptor() const {
    return descriptor_.number();
  }               // of a file, open for writing
  void release(); // gives up the name and the lock

private:
  Unfinished(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)),
        leftover_(path_) {}

  std::string path_;
  Descriptor descriptor_;
  Leftover leftover_;
};

// A file that replaces another atomically. Errors as for FileWriter.
//   DLC_ASSIGN(AtomicFile file, AtomicFile::create(path));
//   DLC_TRY(file.writer().write(...));
//   DLC_TRY(file.commit());
class AtomicFile {
public:
  // Fails if `path` exists and is not a file: a folder, link, FIFO, device.
  static Result<AtomicFile> create(const std::string &path);

  FileWriter &writer() { return writer_; }
  // Syncs the content, applies the permissions of the replaced file, renames it
  // and syncs the folder. No call may follow.
  Status commit() { return commitAs(path_); }
  // The same with another name in the same folder.
  Status commitAs(const std::string &path);

private:
  AtomicFile(std::string path, Unfinished file, FileWriter writer)
      : path_(std::move(path)), file_(std::move(file)),
        writer_(std::move(writer)) {}

  std::string path_;
  Unfinished file_;
  FileWriter writer_;
};

// A folder that replaces another atomically. Fill folder(), then commit(): an
// existing folder is exchanged, keeping its permissions, and then removed. The
// caller ensures that it may be removed.
class AtomicDirectory {
public:
  // Fails if `path` exists and is not a folder, or if its last part is not a
  // name ("." or ".." or "/").
  static Result<AtomicDirectory> create(const std::string &path);
  static Status check(const std::string &path); // only checks `path`

  const std::string &folder() const { return temporary_.path(); }
  Status commit(); // files in it must have been synced
  // As commit(), but false if the name has been taken meanwhile: a non-empty
  // folder is not changed, and this one remains unfinished.
  Result<bool> commitIfFree();

private:
  AtomicDirectory(std::string path, Unfinished temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  Unfinished temporary_;
};

// A folder in TMPDIR (else /tmp) for this user only, removed with its contents
// by the destructor.
class TemporaryFolder {
public:
  static Result<TemporaryFolder> create(const std::string &name);

  const std::string &path() const { return folder_.path(); }

private:
  explicit TemporaryFolder(Unfinished folder) : folder_(std::move(folder)) {}

  Unfinished folder_;
};

// Removes unfinished files that dead processes left directly in `folder`.
void removeStale(const std::string &folder);

} // namespace dlc

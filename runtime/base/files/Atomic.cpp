// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/Atomic.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr std::string_view kMark = ".tmp-";
constexpr size_t kRandomDigits = 12, kDigits = 20, kMaxName = 255;

std::string checkDigits(std::string_view text) {
  return fmt::format("{:08x}", uint32_t(XXH3_64bits(text.data(), text.size())));
}

Result<std::string> temporaryName(const std::string &name) {
  unsigned char bytes[kRandomDigits / 2];
  if (::getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes))
    return failed("no random numbers for the name of a temporary file");
  std::string result =
      name.substr(0, kMaxName - kMark.size() - kDigits) + std::string(kMark);
  for (unsigned char byte : bytes)
    result += fmt::format("{:02x}", byte);
  return result + checkDigits(result);
}

bool isTemporaryName(std::string_view name) {
  if (name.size() <= kMark.size() + kDigits)
    return false;
  const std::string_view mark =
      name.substr(name.size() - kDigits - kMark.size(), kMark.size());
  const size_t end = name.size() - (kDigits - kRandomDigits);
  return mark == kMark && name.substr(end) == checkDigits(name.substr(0, end));
}

// "runs/a/" and "runs/a" are the same folder. Nothing else is normalised:
// "b/.." is not "." if b is a link.
std::string withoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

bool isSame(int descriptor, const std::string &path) {
  struct stat open, named;
  return ::fstat(descriptor, &open) == 0 &&
         ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

// False if another process holds it. On file systems without locks it always
// is: nobody can tell whether the owner has died, so nothing is removed.
bool lock(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

Descriptor openNew(Unfinished::Kind kind, const std::string &path,
                   uint32_t mode) {
  constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC;
  if (kind == Unfinished::Kind::File)
    return Descriptor(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, mode));
  if (::mkdir(path.c_str(), mode) != 0)
    return {};
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | kFlags));
}

void removeIfLeft(const std::string &path) {
  const Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  const bool own = ::fstat(file.number(), &info) == 0 &&
                   info.st_uid == ::geteuid() &&
                   (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
  std::error_code ignored;
  // The lock is held during removal: a process that opens it late notices.
  if (own && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0 &&
      isSame(file.number(), path))
    fs::remove_all(path, ignored);
}

mode_t rightsOf(const std::string &path, int otherwise) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 && ::fstat(otherwise, &info) != 0)
    return 0600;
  return info.st_mode & 0777;
}

Status wrongKind(const std::string &path, std::string_view expected) {
  return failed("'{}' exists and is {}, expected {} or nothing", path,
                kindOfFile(path), expected);
}

// For file systems without exchange: minimises the time between both steps; the
// old name is never one that would be removed.
Status replaceInTwoSteps(const std::string &from, const std::string &to) {
  const std::string old = from + ".old";
  if (::rename(to.c_str(), old.c_str()) != 0)
    return systemError("replace", to);
  if (::rename(from.c_str(), to.c_str()) != 0) {
    Status status = systemError("replace", to);
    ::rename(old.c_str(), to.c_str());
    return status;
  }
  if (::rename(old.c_str(), from.c_str()) != 0)
    return systemError("rename", old);
  return {};
}

// Exchanges two folders.
Status exchangeFolders(const std::string &from, const std::string &to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_EXCHANGE) == 0)
    return {};
  if (errno != EINVAL && errno != ENOSYS)
    return systemError("replace", to);
  return replaceInTwoSteps(from, to);
}

} // namespace

void removeStale(const std::string &folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (isTemporaryName(it->path().filename().string()))
      removeIfLeft(it->path().string());
}

Unfinished::~Unfinished() {
  std::error_code ignored;
  if (!path_.empty())
    fs::remove_all(path_, ignored);
  release();
}

void Unfinished::release() {
  path_.clear();
  leftover_.forget();
  descriptor_.close();
}

Result<Unfinished> Unfinished::create(Kind kind, const std::string &parent,
                                      const std::string &name, uint32_t mode) {
  removeStale(parent);
  for (int attempt = 0; attempt < 100; ++attempt) {
    DLC_ASSIGN(const std::string own, temporaryName(name));
    std::string path = parent + "/" + own;
    Descriptor file = openNew(kind, path, mode);
    // ENOENT: a cleanup came between creating and locking it.
    if (!file && errno != EEXIST && (errno != ENOENT || !isFolder(parent)))
      return systemError("create", parent == "." ? name : parent + "/" + name);
    if (file && lock(file.number()) && isSame(file.number(), path))
      return Unfinished(std::move(path), std::move(file));
  }
  return failed("cannot create '{}': new files in '{}' disappear",
                parent == "." ? name : parent + "/" + name, parent);
}

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  if (std::string_view kind = kindOfFile(path);
      !kind.empty() && kind != "a file")
    return wrongKind(path, "a file");
  const std::string name = fs::path(path).filename();
  if (name.empty())
    return failed("'{}' is not a valid file name", path);
  DLC_ASSIGN(Unfinished file, Unfinished::create(Unfinished::Kind::File,
                                                 parentOf(path), name, 0666));
  // The lock is held until both descriptors are closed.
  Descriptor copy(::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!copy)
    return systemError("create", path);
  return AtomicFile(path, std::move(file), FileWriter(std::move(copy), path));
}

Status AtomicFile::commitAs(const std::string &path) {
  if (std::string_view kind = kindOfFile(path);
      !kind.empty() && kind != "a file")
    return wrongKind(path, "a file");
  const mode_t mode = rightsOf(path, file_.descriptor());
  if (::fchmod(file_.descriptor(), mode) != 0)
    return systemError("set the rights of", path);
  DLC_TRY(writer_.sync());
  if (::rename(file_.path().c_str(), path.c_str()) != 0)
    return systemError("replace", path);
  file_.release();
  return syncFolder(parentOf(path));
}

Status writeFileAtomically(const std::string &path, std::string_view content) {
  DLC_ASSIGN(AtomicFile file, AtomicFile::create(path));
  DLC_TRY(file.writer().write(content));
  return file.commit();
}

Status AtomicDirectory::check(const std::string &path) {
  const std::string target = withoutSlashes(path);
  const std::string name = fs::path(target).filename();
  if (name.empty() || name == "." || name == "..")
    return failed("'{}' is not a valid name of a new folder", path);
  if (std::string_view kind = kindOfFile(target);
      !kind.empty() && kind != "a folder")
    return wrongKind(target, "a folder");
  return {};
}

Result<AtomicDirectory> AtomicDirectory::create(const std::string &path) {
  DLC_TRY(check(path));
  const std::string target = withoutSlashes(path);
  const std::string name = fs::path(target).filename();
  DLC_TRY(makeFolder(parentOf(target)));
  DLC_ASSIGN(Unfinished temporary,
             Unfinished::create(Unfinished::Kind::Folder, parentOf(target),
                                name, 0777));
  return AtomicDirectory(target, std::move(temporary));
}

Result<bool> AtomicDirectory::commitIfFree() {
  DLC_TRY(syncFolder(folder()));
  // rename(2) only replaces empty folders.
  if (::rename(folder().c_str(), path_.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
      return false;
    return systemError("create", path_);
  }
  temporary_.release();
  DLC_TRY(syncFolder(parentOf(path_)));
  return true;
}

Status AtomicDirectory::commit() {
  DLC_ASSIGN(const bool free, commitIfFree());
  if (free)
    return {};
  if (kindOfFile(path_) != "a folder")
    return wrongKind(path_, "a folder");
  const mode_t mode = rightsOf(path_, temporary_.descriptor());
  if (::fchmod(temporary_.descriptor(), mode) != 0)
    return systemError("set the rights of", path_);
  DLC_TRY(exchangeFolders(folder(), path_));
  const Status status = syncFolder(parentOf(path_));
  std::error_code ignored;
  fs::remove_all(folder(), ignored);
  temporary_.release();
  return status;
}

Result<TemporaryFolder> TemporaryFolder::create(const std::string &name) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error)
    return failed("no folder for temporary files: TMPDIR: {}", error.message());
  DLC_ASSIGN(Unfinished folder,
             Unfinished::create(Unfinished::Kind::Folder, parent, name, 0700));
  return TemporaryFolder(std::move(folder));
}

} // namespace dlc

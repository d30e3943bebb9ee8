#include "runtime/base/Files.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr std::string_view kMark = ".tmp-";

// "runs/a/" and "runs/a" are the same folder.
fs::path normal(const std::string &path) {
  fs::path result = fs::path(path).lexically_normal();
  return result.filename().empty() ? result.parent_path() : result;
}

std::string parentOf(const fs::path &path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

bool runs(pid_t process) { return ::kill(process, 0) == 0 || errno == EPERM; }

// `to` becomes what `from` is. What `to` was is then at `from`.
Status exchangeFolders(const std::string &from, const std::string &to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_EXCHANGE) == 0)
    return {};
  if (errno != EINVAL && errno != ENOSYS)
    return systemError("replace", to);
  // This file system cannot exchange; the moment between is as short as it
  // gets.
  std::string old = from + ".old";
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

} // namespace

void removeStale(const std::string &path) {
  fs::path target = normal(path);
  std::string start = target.filename().string() + std::string(kMark);
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(parentOf(target), ignored)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(start))
      continue;
    pid_t process = 0;
    const char *digits = name.data() + start.size();
    auto parsed = std::from_chars(digits, name.data() + name.size(), process);
    if (parsed.ptr == digits || process <= 0)
      continue;
    if (process != ::getpid() && !runs(process))
      fs::remove_all(entry.path(), ignored);
  }
}

Result<AtomicDirectory> AtomicDirectory::create(const std::string &path) {
  fs::path target = normal(path);
  removeStale(path);
  if (exists(target) && !isFolder(target))
    return failed("'{}' exists and is not a folder", path);
  if (target.has_parent_path())
    DLC_TRY(makeFolder(target.parent_path()));
  std::string temporary =
      fmt::format("{}{}{}", target.string(), kMark, ::getpid());
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  if (::mkdir(temporary.c_str(), 0755) != 0)
    return systemError("create", target.string());
  return AtomicDirectory(target, temporary);
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (!temporary_.empty())
    fs::remove_all(temporary_, ignored);
}

Result<bool> AtomicDirectory::commitIfFree() {
  DLC_TRY(syncFolder(temporary_));
  // rename(2) replaces an empty folder only.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
      return false;
    return systemError("create", path_);
  }
  temporary_.clear();
  DLC_TRY(syncFolder(parentOf(path_)));
  return true;
}

Status AtomicDirectory::commit() {
  DLC_TRY(syncFolder(temporary_));
  if (isFolder(path_)) {
    DLC_TRY(exchangeFolders(temporary_, path_));
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return systemError("create", path_);
  }
  temporary_.clear();
  return syncFolder(parentOf(path_));
}

} // namespace dlc

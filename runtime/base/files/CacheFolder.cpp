// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/CacheFolder.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/options/Environment.h"

#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc {

std::string cacheFolder(const std::string &given) {
  return given.empty() ? environment::cacheFolder() : given;
}

Status checkCacheOwner(const std::string &folder) {
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0)
    return errno == ENOENT ? Status() : systemError("read", folder);
  if (!S_ISDIR(info.st_mode))
    return incompatible("the cache '{}' is not a folder", folder);
  if (info.st_uid != ::geteuid())
    return incompatible("the cache '{}' belongs to user {}, expected {}: use "
                        "another with DLC_CACHE_DIR",
                        folder, info.st_uid, ::geteuid());
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return incompatible("others may write to the cache '{}': its rights are "
                        "{:o}, expected 700",
                        folder, info.st_mode & 0777);
  return {};
}

Result<FileLock> FileLock::open(const std::string &path) {
  Descriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    return systemError("open", path);
  return FileLock(std::move(file));
}

Result<FileLock> FileLock::take(const std::string &path) {
  constexpr std::chrono::seconds kLimit(3); // its owner may have been stopped
  DLC_ASSIGN(auto lock, take(path, kLimit));
  if (!lock)
    return failed("another process has held the lock '{}' for {} s", path,
                  kLimit.count());
  return *std::move(lock);
}

Result<std::optional<FileLock>>
FileLock::take(const std::string &path, std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause(20);
  DLC_ASSIGN(FileLock lock, open(path));
  for (const auto end = Clock::now() + limit;;) {
    if (::flock(lock.file_.number(), LOCK_EX | LOCK_NB) == 0)
      return std::optional<FileLock>(std::move(lock));
    if (errno != EWOULDBLOCK && errno != EINTR)
      return systemError("lock", path);
    if (Clock::now() >= end)
      return std::optional<FileLock>();
    std::this_thread::sleep_for(kPause);
  }
}

} // namespace dlc

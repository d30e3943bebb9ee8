// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/Leftovers.h"

#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

namespace dlc {
namespace {

struct List {
  std::mutex mutex;
  std::list<std::string> paths;
};

// Never destroyed, as threads may outlive static objects.
List &list() {
  static List *const list = new List;
  return *list;
}

bool isInFolder(const char *name) {
  return std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0;
}

// Removes a file or a folder tree by system calls that do not allocate, unlike
// opendir and std::filesystem. Does not follow links.
void removeTree(int parent, const char *name, int depth) noexcept {
  if (::unlinkat(parent, name, 0) == 0 || depth == 0)
    return;
  const int folder =
      ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0)
    return;
  alignas(dirent64) char entries[2048];
  long bytes;
  while ((bytes = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) >
         0)
    for (long at = 0; at < bytes;) {
      auto *entry = reinterpret_cast<const dirent64 *>(entries + at);
      if (isInFolder(entry->d_name))
        removeTree(folder, entry->d_name, depth - 1);
      at += entry->d_reclen;
    }
  ::close(folder);
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

} // namespace

Leftover::Leftover(std::string path) {
  List &all = list();
  std::lock_guard lock(all.mutex);
  path_ = &all.paths.emplace_back(std::move(path));
}

void Leftover::forget() noexcept {
  const std::string *const path = std::exchange(path_, nullptr);
  if (!path)
    return;
  List &all = list();
  std::lock_guard lock(all.mutex);
  all.paths.remove_if(
      [path](const std::string &entry) { return &entry == path; });
}

// A thread that ends the process while it holds the lock must not deadlock.
void removeLeftovers() noexcept {
  constexpr int kDepth = 8; // of folders in folders
  List &all = list();
  std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock)
    return;
  for (const std::string &path : all.paths)
    removeTree(AT_FDCWD, path.c_str(), kDepth);
}

} // namespace dlc

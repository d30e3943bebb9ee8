#include "runtime/base/files/Leftovers.h"

#include <filesystem>
#include <list>
#include <mutex>

namespace dlc {
namespace {

struct List {
  std::mutex mutex;
  std::list<std::string> paths;
};

// Never destroyed: threads may outlive what static objects do.
List &list() {
  static List *const list = new List;
  return *list;
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

// A thread that ended the process while it held the lock must not wait for it.
void removeLeftovers() noexcept {
  try {
    List &all = list();
    std::unique_lock lock(all.mutex, std::try_to_lock);
    if (!lock)
      return;
    for (const std::string &path : all.paths) {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } catch (...) { // no memory: they stay
  }
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/CheckedFiles.h"

#include <ctime>
#include <mutex>
#include <set>
#include <tuple>

namespace dlc {
namespace {

using Key = std::tuple<dev_t, ino_t, off_t, time_t, decltype(timespec::tv_nsec),
                       std::string>;

struct Checked {
  std::mutex mutex;
  std::set<Key> files;
};

Checked &checked() {
  static Checked files;
  return files;
}

Key keyOf(const struct stat &file, const std::string &hash) {
  return {file.st_dev,         file.st_ino,          file.st_size,
          file.st_ctim.tv_sec, file.st_ctim.tv_nsec, hash};
}

} // namespace

bool isChecked(const struct stat &file, const std::string &hash) {
  const std::lock_guard lock(checked().mutex);
  return checked().files.contains(keyOf(file, hash));
}

void setChecked(const struct stat &file, const std::string &hash) {
  if (std::time(nullptr) - file.st_ctim.tv_sec < 2)
    return;
  const std::lock_guard lock(checked().mutex);
  checked().files.insert(keyOf(file, hash));
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// The user's cache folder, and locks between processes.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"

#include <chrono>
#include <optional>
#include <string>

namespace dlc {

// The folder of all caches of this user, created with permissions 0700 at the
// first write: `given`, else DLC_CACHE_DIR, else XDG_CACHE_HOME/dlc, else
// ~/.cache/dlc; empty if none of them is set.
std::string cacheFolder(const std::string &given);

// Incompatible for a folder that others could have written: it belongs to
// another user, or others have write permission. A missing folder is fine.
Status checkCacheOwner(const std::string &folder);

// A lock (flock) on a file, which is created if missing and stays. Held by this
// object; the system releases it when the process dies.
class FileLock {
public:
  // For short work: Code::Failed if it is not free within 3 s.
  static Result<FileLock> take(const std::string &path);
  // Nullopt if another process holds it for longer than `limit`.
  static Result<std::optional<FileLock>> take(const std::string &path,
                                              std::chrono::milliseconds limit);

private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  static Result<FileLock> open(const std::string &path);

  Descriptor file_;
};

} // namespace dlc

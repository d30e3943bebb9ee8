// SPDX-License-Identifier: Apache-2.0
// Exclusive write access to a run folder, for one process until it releases it
// or ends.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dlc {

// A flock on RUN/lock, which is not removed; its content (process and machine)
// is only used in messages. Does not exclude threads of one process.
class RunLock {
public:
  // Waits a moment for a process that may be ending. Code::Failed, with the
  // process that holds it. A warning if the file system does not support locks.
  // Readers do not need the lock.
  static Result<RunLock> take(const std::string &run);

  RunLock(RunLock &&other) noexcept;
  RunLock &operator=(RunLock &&) = delete;
  ~RunLock();

  // The folder was renamed since it was locked.
  void renamed(const std::string &run) { run_ = run; }

  // Code::Failed, with details, if the folder was moved, or lacks a file that
  // it had other than checkpoints and logs of values, so that a checkpoint in
  // it would be unusable. Recreates a missing lock.
  Status check();

private:
  explicit RunLock(std::string run) : run_(std::move(run)) {}
  Status lock(double patienceSeconds);
  Result<bool> tryLock();
  Status inUse(int file) const;
  void listFiles();
  std::string lockPath() const { return run_ + "/lock"; }

  std::string run_;
  int file_ = -1;                                 // below 0: no locks
  std::pair<dev_t, ino_t> folder_{}, lockFile_{}; // identity at locking
  std::vector<std::string> files_;                // in the folder
};

} // namespace dlc

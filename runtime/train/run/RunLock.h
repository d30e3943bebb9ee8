// SPDX-License-Identifier: Apache-2.0
// The right to write into a run folder: one process has it at a time, until it
// gives it back or ends in whatever way.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dlc {

// A flock on RUN/lock, which stays behind; what it holds, the process and its
// machine, is for messages only. Not for threads.
class RunLock {
public:
  // Waits a moment for a process that is about to end. Code::Failed, naming the
  // process that has it. Where locks do not work, a warning. Reading needs
  // none.
  static Result<RunLock> take(const std::string &run);

  RunLock(RunLock &&other) noexcept;
  RunLock &operator=(RunLock &&) = delete;
  ~RunLock();

  // The folder has another name since it was locked.
  void renamed(const std::string &run) { run_ = run; }

  // Code::Failed, saying what is gone, if the folder is no longer where it was
  // or lacks a file that it had, but for checkpoints and lists of numbers: a
  // checkpoint in it could not be used. A lock that is gone is made again.
  Status check();

private:
  explicit RunLock(std::string run) : run_(std::move(run)) {}
  Status lock(double patienceSeconds);
  Result<bool> tryLock();
  Status inUse(int file) const;
  void listFiles();
  std::string lockPath() const { return run_ + "/lock"; }

  std::string run_;
  int file_ = -1;                                 // below 0: locks do not work
  std::pair<dev_t, ino_t> folder_{}, lockFile_{}; // what was locked
  std::vector<std::string> files_;                // in the folder
};

} // namespace dlc

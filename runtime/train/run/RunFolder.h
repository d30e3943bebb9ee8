// SPDX-License-Identifier: Apache-2.0
// A run folder, from which a training run can be resumed.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"
#include "runtime/collective/Communicator.h"
#include "runtime/train/TrainOptions.h"

#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dlc {

// Exclusive write access to a run folder, for one process until it releases it
// or ends: a flock on RUN/lock, which is not removed; its content (process and
// machine) is only used in messages. Does not exclude threads of one process.
class RunLock {
public:
  // Waits a moment for a process that may be ending. Code::Failed, with the
  // process that holds it. A warning if the file system does not support locks.
  // Readers do not need the lock.
  static Result<RunLock> take(const std::string &run);

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
  Descriptor file_;                               // none: no locks
  std::pair<dev_t, ino_t> folder_{}, lockFile_{}; // identity at locking
  std::vector<std::string> files_;                // in the folder
};

// The folder on one rank. Only rank 0 has the lock and manages the contents;
// others may add files if they can access it.
class RunFolder {
public:
  // Locks the run `resume` before any file is read that another process could
  // change; empty: no folder yet. Collective.
  static Result<RunFolder> open(const std::string &resume, Communicator &ranks);
  // Unless a run was opened, creates the folder of a new one atomically, with a
  // copy of the artifact (hard links if the file system supports them) and
  // config.yaml, and locks it. Code::Usage if options.run exists. Collective;
  // all ranks get rank 0's path.
  Status make(const TrainOptions &options, Communicator &ranks);

  const std::string &path() const { return path_; }
  bool isOwn() const { return lock_.has_value(); }
  // See RunLock::check(); always ok on ranks other than 0.
  Status check() { return lock_ ? lock_->check() : Status(); }

private:
  Status create(const TrainOptions &options);

  std::string path_;
  std::optional<RunLock> lock_;
};

// An empty path stays empty.
std::string absolutePath(const std::string &path);

// Creates a folder with hard links to the files of an artifact, or copies.
Status copyArtifact(const std::string &from, const std::string &to);

// Number of ranks that wrote the newest checkpoint, or that of this step;
// without checkpoints the number that the artifact was compiled for.
Result<int> ranksOfRun(const std::string &run, std::optional<int64_t> step);

} // namespace dlc

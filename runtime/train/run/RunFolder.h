// SPDX-License-Identifier: Apache-2.0
// A run folder, from which a training run can be resumed.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/run/RunLock.h"

#include <optional>
#include <string>

namespace dlc {

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

// SPDX-License-Identifier: Apache-2.0
// A run folder: what a training run leaves behind and goes on from.
//   config.yaml  model.dlc/  metrics.jsonl  epochs.jsonl  checkpoint-<step>/
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/run/RunLock.h"

#include <optional>
#include <string>

namespace dlc {

// As one rank sees it. Rank 0 has the lock and what is in it; the others may
// leave something there, if they reach it.
class RunFolder {
public:
  // With the lock of the run `resume`, before anything of it is read that
  // another process could change; empty: of none yet. All ranks call it.
  static Result<RunFolder> open(const std::string &resume, Communicator &ranks);
  // Unless it is of a run already, makes that of a new one, complete with a
  // copy of the artifact (hard links where the file system allows) and
  // config.yaml, in one step, and locks it. Code::Usage if options.run exists
  // already. All ranks call it and get rank 0's path.
  Status make(const TrainOptions &options, Communicator &ranks);

  const std::string &path() const { return path_; }
  bool isOwn() const { return lock_.has_value(); }
  // As RunLock::check(); others than rank 0 have nothing to check.
  Status check() { return lock_ ? lock_->check() : Status(); }

private:
  Status create(const TrainOptions &options);

  std::string path_;
  std::optional<RunLock> lock_;
};

// Empty: as it was.
std::string absolutePath(const std::string &path);

// Hard links to the files of an artifact in a new folder, or copies.
Status copyArtifact(const std::string &from, const std::string &to);

// The ranks that the newest checkpoint, or the one of this step, was made by;
// if there is none, those that the artifact was compiled for.
Result<int> ranksOfRun(const std::string &run, std::optional<int64_t> step);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// A run folder: what a training run leaves behind and goes on from.
//   config.yaml  model.dlc/  metrics.jsonl  epochs.jsonl  checkpoint-<step>/
#pragma once

#include "runtime/train/TrainOptions.h"
#include "runtime/train/run/RunLock.h"

#include <optional>
#include <string>

namespace dlc {

struct NewRun {
  std::string path;
  RunLock lock;
};

// Makes the folder of a new run, complete with a copy of the artifact (hard
// links where the file system allows) and config.yaml, in one step, and locks
// it. Code::Usage if options.run exists already.
Result<NewRun> createRun(const TrainOptions &options);

// Hard links to the files of an artifact in a new folder, or copies.
Status copyArtifact(const std::string &from, const std::string &to);

// The ranks that the newest checkpoint, or the one of this step, was made by;
// if there is none, those that the artifact was compiled for.
Result<int> ranksOfRun(const std::string &run, std::optional<int64_t> step);

} // namespace dlc

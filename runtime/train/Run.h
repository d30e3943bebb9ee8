// A run folder: what a training run leaves behind and goes on from.
//   config.yaml  model.dlc/  metrics.jsonl  epochs.jsonl  checkpoint-<step>/
#pragma once

#include "runtime/base/Json.h"
#include "runtime/plan/Model.h"
#include "runtime/train/Session.h"
#include "runtime/train/TrainOptions.h"

#include <string>

namespace dlc {

// Makes the folder of a new run, complete with a copy of the artifact (hard
// links where the file system allows) and config.yaml, in one step. Returns its
// path. Code::Usage if options.run exists already.
Result<std::string> createRun(const TrainOptions &options);

// Hard links to the files of an artifact in a new folder, or copies.
Status copyArtifact(const std::string &from, const std::string &to);

// Where a run stands. Seed and cursor say which samples come next.
struct Progress {
  int64_t step = 0;
  Cursor cursor;
  std::string dataHash; // of the training data
  int64_t samples = 0;
  int world = 0; // ranks that did the last step; 0: none was done
};

// Writes <run>/checkpoint-<step> in one step and removes all but the `keep`
// newest. Code::Diverged, and nothing written, if a parameter is not finite.
Status saveCheckpoint(Session &session, const std::string &run,
                      const Progress &progress, int64_t keep);

// Loads the newest good checkpoint; says so in a warning when newer ones are
// damaged. Step 0, with the artifact's state, if there is none. Code::Corrupt
// if there are some and all are damaged.
Result<Progress> loadNewestCheckpoint(Session &session, const std::string &run);

// The ranks that the newest checkpoint was made by, or those that the artifact
// was compiled for.
Result<int> ranksOfRun(const std::string &run);

} // namespace dlc

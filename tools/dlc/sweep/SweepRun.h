// SPDX-License-Identifier: Apache-2.0
// A sweep from its first trial to its last.
//
// Its folder: sweep.yaml (the file), results.json, trial-N/ (a run of dlc
// train), trial-N.log, artifacts/ (one for each set of flags of dlc compile),
// lock.
#pragma once

#include "tools/dlc/sweep/SweepFile.h"

namespace dlc::tool {

struct SweepOptions {
  std::string folder;
  int64_t slots = 1;   // trials beside each other
  int64_t threads = 0; // of each; 0: the cores shared among the slots
  bool resume = false;
};

// What is known of a trial; kept in results.json.
struct TrialResult {
  int64_t rungs = 0;  // done
  int64_t epochs = 0; // of these
  double value = NAN; // the best validation so far; none: not a number
  int code = 0;       // it failed by
};

struct SweepResult {
  std::vector<SweepTrial> trials;
  std::vector<TrialResult> results; // of each
  int signal = 0;                   // that ended it early
};

// A folder holds one sweep: Usage if it holds one and none is resumed, or one
// of another file. A trial that is interrupted, or killed, goes on where its
// last checkpoint is; one that is done is not done again. After a signal the
// trials write checkpoints and end. A trial that fails is a result, but for
// Usage, which ends the sweep as all others would fail alike.
Result<SweepResult> runSweep(const SweepFile &file,
                             const SweepOptions &options);

std::string trialFolder(const std::string &sweep, int64_t number);

// Whether `a` is better than `b`, by the file's metric; none is worst.
bool isBetter(const SweepFile &file, const TrialResult &a,
              const TrialResult &b);

} // namespace dlc::tool

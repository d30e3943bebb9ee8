// SPDX-License-Identifier: Apache-2.0
// A training run from its first step to its last.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/Hooks.h"
#include "runtime/train/TrainOptions.h"

#include <memory>

namespace dlc {

struct TrainResult {
  std::string run;      // its folder
  int64_t steps = 0;    // done in all, earlier sessions included
  int signal = 0;       // of kStopSignals, ended it early, after a checkpoint
  bool stopped = false; // or a callback did
};

// Trains as `options` say. Every rank makes one with the same options; rank 0
// writes. The communicator must outlive it.
//
// A run that is killed at any moment and resumed ends with the bits of a run
// that was not, at the same number of ranks and threads. A model that was
// compiled for several ranks may be resumed by any number of them: each goes on
// with its batches, so that an update has more samples or fewer; the samples of
// the epoch that were not taken yet come next, and the run keeps its number of
// steps, so that what a schedule says of a step stays.
class Trainer {
public:
  // Reads model and data, makes the run folder or finds the newest checkpoint.
  // An error is the same on all ranks: one of them may report it.
  static Result<std::unique_ptr<Trainer>> create(const TrainOptions &options,
                                                 Communicator &communicator,
                                                 const TrainHooks &hooks = {});
  ~Trainer();

  // Of the run.
  const std::string &folder() const;

  // Trains to the end; once. While a trainer lives it handles signals
  // (Signals.h), unless the hooks say no: all ranks finish the step they are
  // in, and a checkpoint is written. Code::Diverged when the loss is not finite
  // in a step that was not skipped, or after options.maxSkips skipped steps in
  // a row; RUN/replay-<step> then does the step again (Replay.h), and the last
  // checkpoint is kept. After any error each of several ranks adds a line to
  // RUN/flight-<host>.jsonl (collective/flight).
  Result<TrainResult> run();

  // After an error: false if another rank of this host has already told that a
  // rank is lost, as this one would.
  bool tells() const;

private:
  class Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc

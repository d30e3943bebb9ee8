// SPDX-License-Identifier: Apache-2.0
// A training run from its first to its last step.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/Hooks.h"
#include "runtime/train/TrainOptions.h"

#include <memory>

namespace dlc {

struct TrainResult {
  std::string run;      // its folder
  int64_t steps = 0;    // completed in total, with earlier sessions
  int signal = 0;       // of kStopSignals, that ended it after a checkpoint
  bool stopped = false; // a callback ended it
};

// Trains according to `options`. Each rank creates one with the same options;
// rank 0 writes files. The communicator must outlive it.
//
// A run that is killed at any time and resumed gives bitwise the same result as
// an uninterrupted one, for the same number of ranks and threads. A model that
// was compiled for several ranks may be resumed on any number of them: the
// batch per rank stays, so the number of samples per update changes; the
// remaining samples of the epoch come next; and the number of steps stays, so
// that schedules are unaffected.
class Trainer {
public:
  // Reads model and data, and creates the run folder or finds the newest
  // checkpoint. Errors are the same on all ranks, so that one can report them.
  static Result<std::unique_ptr<Trainer>> create(const TrainOptions &options,
                                                 Communicator &communicator,
                                                 const TrainHooks &hooks = {});
  ~Trainer();

  // The run's folder.
  const std::string &folder() const;

  // Trains to the end; call once. While a trainer exists it handles signals
  // (Signals.h), unless hooks.signals is false: all ranks finish their step,
  // and a checkpoint is written. Code::Diverged when the loss is not finite in
  // a step that was not skipped, or after options.maxSkips consecutive skipped
  // steps; RUN/replay-<step> then reproduces the step (Replay.h), and the last
  // checkpoint is kept. After any error each of several ranks adds a line to
  // RUN/flight-<host>.jsonl (collective/flight).
  Result<TrainResult> run();

  // After an error: whether to print it. False if a rank is lost and another
  // rank of this host has already printed that.
  bool tells() const;

private:
  class Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc

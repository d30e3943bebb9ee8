// SPDX-License-Identifier: Apache-2.0
// What a program that embeds a training run adds to it.
#pragma once

#include "runtime/data/Source.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dlc {

// One update, known.
struct StepEvent {
  int64_t step = 0;  // the first of a run is 1
  int64_t total = 0; // steps of the run
  int64_t epoch = 0; // of its last sample
  // Its metrics ("loss", "lr", ...) and their values.
  std::span<const std::string> names;
  std::span<const double> values;
  double samplesPerSecond = 0;
  int64_t samples = 0; // of all ranks, without those that fill it up
  double seconds = 0;
  double waited = 0;      // seconds for its samples, of rank 0's
  double shareWaited = 0; // of the time since the first step
};

// An epoch, after its validation, or the validation at a run's end.
struct EpochEvent {
  int64_t epoch = 0;   // done
  int64_t step = 0;    // done
  bool isWhole = true; // false: the run ended within it
  // "val_loss", "val_accuracy", "ema_loss", ...; none without validation.
  std::vector<std::pair<std::string, double>> values;
};

// Callbacks are rank 0's, called by the thread that runs the trainer. False:
// the run ends after this step with a checkpoint; on a device that runs ahead a
// few steps later.
struct TrainHooks {
  // Samples in place of the files that options.data and options.val name; every
  // rank has its own.
  std::shared_ptr<const Source> data, val;
  std::function<bool(const StepEvent &)> onStep;
  std::function<bool(const EpochEvent &)> onEpoch; // of whole ones
  bool signals = true; // handle those of Signals.h while the run lasts
};

} // namespace dlc

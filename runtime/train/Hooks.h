// SPDX-License-Identifier: Apache-2.0
// Hooks for programs that embed a training run.
#pragma once

#include "runtime/data/Source.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dlc {

// A completed update.
struct StepEvent {
  int64_t step = 0;  // the first of a run is 1
  int64_t total = 0; // steps of the run
  int64_t epoch = 0; // of its last sample
  // The names and values of its metrics ("loss", "lr", ...).
  std::span<const std::string> names;
  std::span<const double> values;
  double samplesPerSecond = 0;
  int64_t samples = 0; // of all ranks, without padding samples
  double seconds = 0;
  double waited = 0;      // seconds that rank 0 waited for samples
  double shareWaited = 0; // share of the time since the first step
};

// A completed epoch with its validation, or the validation at the end of a run.
struct EpochEvent {
  int64_t epoch = 0;   // completed
  int64_t step = 0;    // completed
  bool isWhole = true; // false: the run ended within the epoch
  // "val_loss", "val_accuracy", "ema_loss", ...; empty without validation.
  std::vector<std::pair<std::string, double>> values;
};

// Callbacks are called on rank 0, by the thread that runs the trainer. If one
// returns false, the run ends after this step with a checkpoint; a few steps
// later on a device that runs ahead.
struct TrainHooks {
  // Samples to use instead of the files in options.data and options.val; each
  // rank has its own.
  std::shared_ptr<const Source> data, val;
  std::function<bool(const StepEvent &)> onStep;
  std::function<bool(const EpochEvent &)> onEpoch; // of whole epochs
  bool signals = true; // handle signals (Signals.h) during the run
};

} // namespace dlc

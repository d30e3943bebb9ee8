// SPDX-License-Identifier: Apache-2.0
// Chooses among the algorithms of a library, by stored or new measurements.
#pragma once

#include "runtime/device/TuneChoices.h"
#include "runtime/device/Tuning.h"
#include "runtime/device/cuda/driver/Context.h"

#include <functional>
#include <optional>
#include <span>

namespace dlc {

// An algorithm for a command, and how to start it on the compute stream. It
// writes to a draft buffer as the command's outputs may be in use.
struct Candidate {
  TuneEntry entry;
  std::function<Status(CUdeviceptr draft)> enqueue;
};

class Draft;

class Tuner {
public:
  // A cache that cannot be used causes a warning.
  Tuner(const GpuContext &context, TuneOptions options);

  const TuneOptions &options() const { return options_; }
  // Whether candidates other than the library's first choice are used.
  bool measures() const {
    return options_.mode == TuneOptions::Mode::Benchmark && usesCache() &&
           !(options_.choices && options_.choices->areAdopted());
  }

  // A key with everything that all choices on this GPU depend on.
  TuneKey key() const;
  // The earlier choice for a command (named as in messages), from here or from
  // the choosing rank; none in a mode without measurements.
  std::optional<TuneEntry> find(const TuneKey &key,
                                std::string_view command) const;
  // The fastest of at least one candidate, which is stored for this key. Each
  // is recorded and timed as one launch, as in a step, after the GPU's cache is
  // flushed, since in a step other commands have filled it. Within 2 % of the
  // fastest the library's order decides. A candidate that does not start or
  // cannot be recorded is left out. Waits for the GPU.
  //
  // The measurement frees all its memory: `draft` bytes for results, and
  // options.flush times the cache size for flushing. If the GPU has less, the
  // cache stays warm or nothing is measured, with a note that names the
  // command, and nothing is stored on disk. Errors are those of the GPU.
  Result<size_t> measure(const TuneKey &key, std::string_view command,
                         uint64_t draft, std::span<Candidate> candidates) const;

private:
  bool usesCache() const {
    return options_.mode != TuneOptions::Mode::Off && !options_.deterministic;
  }
  void remember(const TuneKey &key, std::optional<TuneEntry> entry,
                std::string_view command) const;
  Result<double> milliseconds(Command &launch, const Draft &flush) const;

  const GpuContext &context_;
  TuneOptions options_;
  std::optional<TuneCache> cache_; // none: it cannot be used
};

} // namespace dlc

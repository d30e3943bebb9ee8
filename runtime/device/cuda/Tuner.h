// Chooses among the algorithms of a library: by its cache on disk, or by
// measuring them.
#pragma once

#include "runtime/device/TuneChoices.h"
#include "runtime/device/Tuning.h"
#include "runtime/device/cuda/Context.h"

#include <functional>
#include <optional>
#include <span>

namespace dlc {

// An algorithm for a command, and how to start it on the compute stream.
struct Candidate {
  TuneEntry entry;
  std::function<Status()> enqueue;
};

class Tuner {
public:
  // A cache that cannot be used is a warning.
  Tuner(const GpuContext &context, TuneOptions options);

  const TuneOptions &options() const { return options_; }
  // Whether candidates beyond the library's first choice are of interest.
  bool measures() const {
    return options_.mode == TuneOptions::Mode::Benchmark && usesCache() &&
           !(options_.choices && options_.choices->areAdopted());
  }

  // A key with what every choice on this GPU depends on.
  TuneKey key() const;
  // What was measured before, here or by the rank that chooses; none in a mode
  // that does not ask.
  std::optional<TuneEntry> find(const TuneKey &key) const;
  // The fastest of at least one, which is kept for this key. The library's
  // order decides between those that are within 2 % of it. One that does not
  // start is left out. Waits for the GPU. Errors are those of the GPU.
  Result<size_t> measure(const TuneKey &key,
                         std::span<Candidate> candidates) const;

private:
  bool usesCache() const {
    return options_.mode != TuneOptions::Mode::Off && !options_.deterministic;
  }
  void remember(const TuneKey &key, std::optional<TuneEntry> entry) const;
  Result<double> milliseconds(const Candidate &candidate) const;

  const GpuContext &context_;
  TuneOptions options_;
  std::optional<TuneCache> cache_; // none: it cannot be used
};

// Device memory while it is in scope, where measured commands may write.
class Draft {
public:
  static Result<Draft> create(const GpuContext &context, uint64_t bytes);
  Draft(Draft &&other) noexcept
      : context_(other.context_), data_(std::exchange(other.data_, 0)) {}
  Draft &operator=(Draft &&) = delete;
  ~Draft();
  CUdeviceptr data() const { return data_; }

private:
  Draft(const GpuContext &context, CUdeviceptr data)
      : context_(&context), data_(data) {}
  const GpuContext *context_;
  CUdeviceptr data_;
};

} // namespace dlc

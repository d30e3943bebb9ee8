// SPDX-License-Identifier: Apache-2.0
// One GPU of this process: its context, streams and properties.
#pragma once

#include "runtime/device/cuda/driver/Driver.h"

#include <string>

namespace dlc {

// The next function that waits for the GPU returns the GPU's errors.
constexpr std::string_view kEarlierWork = "a command that was started earlier "
                                          "failed (DLC_SYNC=1 finds which)";

struct GpuProperties {
  std::string name; // "NVIDIA H200"
  std::string uuid; // "GPU-" and 32 digits, globally unique
  int sm = 0;       // 90 for compute capability 9.0
  int multiprocessors = 0;
  int sharedPerBlock = 0; // bytes per block with opt-in
  uint64_t memory = 0;    // total bytes
  uint64_t l2 = 0;        // bytes of its L2 cache
};

// The primary context, which vendors' libraries share. It is retained once and
// never released, since libraries keep handles in it. Created and destroyed by
// the thread that uses it; other threads make it current before driver calls.
class GpuContext {
public:
  // `ordinal` counts the GPUs that CUDA_VISIBLE_DEVICES leaves. A process with
  // one visible GPU uses it for any rank. Usage if there are fewer.
  static Result<std::unique_ptr<GpuContext>>
  create(std::shared_ptr<const Driver> driver, int ordinal);
  ~GpuContext();

  const Driver &driver() const { return *driver_; }
  const GpuProperties &properties() const { return properties_; }
  int ordinal() const { return ordinal_; }

  // Commands run on `compute` in order, collectives on `communication`, whose
  // blocks have priority; inputs arrive on `copies`, and results leave on
  // `results`.
  CUstream compute() const { return compute_; }
  CUstream communication() const { return communication_; }
  CUstream copies() const { return copies_; }
  CUstream results() const { return results_; }

  Status makeCurrent() const;
  Status check(CUresult result, std::string_view action) const {
    return driver_->check(result, action);
  }

private:
  explicit GpuContext(std::shared_ptr<const Driver> driver)
      : driver_(std::move(driver)) {}
  Status open(int ordinal);
  Status readProperties();

  std::shared_ptr<const Driver> driver_;
  GpuProperties properties_;
  int ordinal_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream compute_ = nullptr;
  CUstream communication_ = nullptr;
  CUstream copies_ = nullptr;
  CUstream results_ = nullptr;
};

// Events that order streams and report completed work. The host sleeps to wait.
class GpuEvent {
public:
  // Cheaper if it is not timed.
  static Result<GpuEvent> create(const GpuContext &context, bool timed = false);
  GpuEvent(GpuEvent &&other) noexcept
      : context_(other.context_), event_(std::exchange(other.event_, nullptr)) {
  }
  GpuEvent &operator=(GpuEvent &&) = delete;
  ~GpuEvent();

  Status record(CUstream stream) const;
  // Later work on `stream` waits for the recorded work.
  Status holdBack(CUstream stream) const;
  // Whether the recorded work is done; true if nothing was recorded.
  Result<bool> done() const;
  Status wait() const; // blocks the host
  // The time between two timed events, both of which must be done.
  Result<double> millisecondsSince(const GpuEvent &start) const;

private:
  GpuEvent(const GpuContext &context, CUevent event)
      : context_(&context), event_(event) {}

  const GpuContext *context_;
  CUevent event_;
};

} // namespace dlc

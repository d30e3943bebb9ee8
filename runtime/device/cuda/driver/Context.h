// SPDX-License-Identifier: Apache-2.0
// One GPU as this process uses it: its context, its streams and what it is.
#pragma once

#include "runtime/device/cuda/driver/Driver.h"

#include <string>

namespace dlc {

// Errors of the GPU come with whatever waits for it next.
constexpr std::string_view kEarlierWork = "a command that was started earlier "
                                          "failed (DLC_SYNC=1 finds which)";

struct GpuProperties {
  std::string name; // "NVIDIA H200"
  std::string uuid; // "GPU-" and 32 digits: no other GPU has it
  int sm = 0;       // 90 for compute capability 9.0
  int multiprocessors = 0;
  int sharedPerBlock = 0; // bytes, at most, when a kernel opts in
  uint64_t memory = 0;    // bytes in all
  uint64_t l2 = 0;        // bytes of its cache
};

// The primary context, so that libraries of vendors share it. It is retained
// once and never released: these keep handles in it that would die with it.
// Created and destroyed by the thread that uses it; another one that calls the
// driver first makes it current there.
class GpuContext {
public:
  // `ordinal` among the GPUs that CUDA_VISIBLE_DEVICES leaves. A process that
  // sees one GPU uses that one, whatever its rank. Usage if there are fewer.
  static Result<std::unique_ptr<GpuContext>>
  create(std::shared_ptr<const Driver> driver, int ordinal);
  ~GpuContext();

  const Driver &driver() const { return *driver_; }
  const GpuProperties &properties() const { return properties_; }
  int ordinal() const { return ordinal_; }

  // Commands run on `compute` in order; collectives on `communication`, whose
  // blocks are scheduled first; inputs arrive on `copies`, and what the host
  // reads leaves on `results`.
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

// Events that order streams and say when work is done. A host that waits
// sleeps: the core is for others.
class GpuEvent {
public:
  // Cheap if it is not to be timed.
  static Result<GpuEvent> create(const GpuContext &context, bool timed = false);
  GpuEvent(GpuEvent &&other) noexcept
      : context_(other.context_), event_(std::exchange(other.event_, nullptr)) {
  }
  GpuEvent &operator=(GpuEvent &&) = delete;
  ~GpuEvent();

  Status record(CUstream stream) const;
  // Later work on `stream` waits for what was recorded.
  Status holdBack(CUstream stream) const;
  // Whether what was recorded is done; true if nothing was.
  Result<bool> done() const;
  Status wait() const; // blocks the host
  // Between two timed events that are done.
  Result<double> millisecondsSince(const GpuEvent &start) const;

private:
  GpuEvent(const GpuContext &context, CUevent event)
      : context_(&context), event_(event) {}

  const GpuContext *context_;
  CUevent event_;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Copies between the GPU's memory and pinned memory of the host, in parallel
// with computation.
#pragma once

#include "runtime/device/cuda/driver/Context.h"

#include <map>

namespace dlc {

// A copy that a step repeats. Events order its stream with that of computation,
// also in a recorded step.
class HostCopy {
public:
  // Device addresses are CUdeviceptr. The copy begins after all computation
  // enqueued so far.
  Status toHost(void *to, CUdeviceptr from, uint64_t bytes) const;
  Status toDevice(CUdeviceptr to, const void *from, uint64_t bytes) const;
  // Later computation waits for the copy.
  Status wait() const;

private:
  friend class HostCopies;
  HostCopy(const GpuContext &context, CUstream stream, GpuEvent computed,
           GpuEvent copied)
      : context_(context), stream_(stream), computed_(std::move(computed)),
        copied_(std::move(copied)) {}
  Status begin() const;

  const GpuContext &context_;
  CUstream stream_;
  GpuEvent computed_, copied_;
};

// The streams of these copies, one for each direction, since GPUs copy in both
// at a time. Made when the first copy is bound.
class HostCopies {
public:
  explicit HostCopies(const GpuContext &context) : context_(context) {}
  ~HostCopies();

  enum class Direction { ToHost, ToDevice };
  // `number` identifies the copy until take().
  Result<std::shared_ptr<const HostCopy>> add(int64_t number,
                                              Direction direction);
  // Null if no copy of that number has been added since the last take().
  std::shared_ptr<const HostCopy> take(int64_t number);
  // Blocks the host until all copies are done.
  Status synchronize(std::string_view work) const;

private:
  const GpuContext &context_;
  CUstream streams_[2] = {}; // by direction
  std::map<int64_t, std::shared_ptr<const HostCopy>> open_;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Collectives on a device's memory, enqueued as work of the device.
#pragma once

#include "runtime/collective/Communicator.h"

#include <functional>

namespace dlc {

// Every rank enqueues the same reductions in the same order, from one thread. A
// thread of the communicator detects work that does not finish. Destroyed after
// everything that was recorded with it.
class DeviceCommunicator {
public:
  virtual ~DeviceCommunicator() = default;

  // In place, after the work on `queue` (a stream of the device); returns
  // before it is done. May be recorded. F32, F64, BF16, F16, and for Sum I64,
  // I32.
  virtual Status allReduce(void *data, size_t count, DType type, ReduceOp op,
                           void *queue) = 0;

  // `data` consists of adjacent shards, one per rank in rank order or one per
  // rank of a group, then also reduced over the groups, with the given numbers
  // of elements; a shard may be empty. `own`, which may be this rank's in
  // `data`, receives this rank's shard. As allReduce(), but the order of a sum
  // may differ.
  virtual Status reduceScatter(void *data, std::span<const size_t> pieces,
                               void *own, DType type, ReduceOp op,
                               void *queue) = 0;

  // In place: `data` consists of adjacent shards with the given sizes in bytes.
  // Each rank has its own in `data` or, if not null, in `own` before, and all
  // shards after.
  virtual Status allGather(void *data, std::span<const size_t> pieces,
                           const void *own, void *queue) = 0;

  // Deadline for the device's work up to number `stamp`: the timeout from now,
  // or from the completion of the work before it.
  virtual void expect(uint64_t stamp) = 0;

  // PeerLost, naming the rank if known, after a reduction failed or exceeded
  // its deadline on another rank; Failed if it failed here. All reductions were
  // then aborted, so no wait for the device hangs. Any thread.
  virtual Status status() = 0;
};

struct DeviceGroup {
  // Of these ranks, for this class only; it identifies the rank that failed.
  std::unique_ptr<Communicator> control;
  std::chrono::milliseconds timeout{60'000};
  // What is scattered and gathered has one shard per rank, or so many: each
  // group of so many ranks that follow each other has all. A divisor of the
  // number of ranks; 0: one per rank.
  size_t groupSize = 0;
  // Unique identifier of the device among all machines; empty if unknown.
  std::string device;
  // The number of the last completed work, as expect() counts; called by
  // another thread.
  std::function<Result<uint64_t>()> completed;
  // The number of reductions of the current step whose inputs the device has
  // computed; 0 if unknown. The same, at the time when a reduction was late.
  std::function<uint64_t()> computed;
};

// By NCCL, for this thread's current device. All ranks call this; it returns
// when all are connected. Incompatible if a rank has no NCCL or another version
// than rank 0, naming the rank; Usage if two ranks use one device, naming both;
// PeerLost after the timeout.
Result<std::unique_ptr<DeviceCommunicator>>
makeNcclCommunicator(DeviceGroup group);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Collectives on device memory, enqueued on a stream of the device.
#pragma once

#include "runtime/collective/Communicator.h"

#include <functional>

namespace dlc {

// All ranks enqueue the same collectives in the same order, from one thread. A
// watchdog thread detects device work that does not finish. Must be destroyed
// after all graphs that were captured with it.
class DeviceCommunicator {
public:
  virtual ~DeviceCommunicator() = default;

  // Reduces in place, after the work on `queue` (a stream); asynchronous. May
  // be captured. F32, F64, BF16, F16, and for Sum I64, I32.
  virtual Status allReduce(void *data, size_t count, DType type, ReduceOp op,
                           void *queue) = 0;

  // `data` consists of adjacent shards, one per rank in rank order, or one per
  // rank of a group, with the given numbers of elements; a shard may be empty.
  // `own`, which may be inside `data`, receives this rank's shard, reduced over
  // all ranks. As allReduce(), but sums may have another order.
  virtual Status reduceScatter(void *data, std::span<const size_t> pieces,
                               void *own, DType type, ReduceOp op,
                               void *queue) = 0;

  // In place: `data` consists of adjacent shards with the given sizes in bytes.
  // Before, each rank's own shard is in `data` or, if not null, in `own`;
  // afterwards `data` has all shards.
  virtual Status allGather(void *data, std::span<const size_t> pieces,
                           const void *own, void *queue) = 0;

  // Sets the deadline for the device's work up to number `stamp`: the timeout
  // from now, or from the completion of the previous work.
  virtual void expect(uint64_t stamp) = 0;

  // Code::PeerLost, naming the rank if known, after a collective failed or
  // exceeded its deadline on another rank; Code::Failed if it failed here. All
  // collectives were then aborted, so no wait for the device hangs. Any thread.
  virtual Status status() = 0;
};

struct DeviceGroup {
  // Used only by this class, to identify the rank that failed.
  std::unique_ptr<Communicator> control;
  std::chrono::milliseconds timeout{60'000};
  // Number of shards of reduceScatter() and allGather() if it is not the number
  // of ranks: each group of that many consecutive ranks has all shards. A
  // divisor of the number of ranks; 0: one shard per rank.
  size_t groupSize = 0;
  // Unique identifier of the device across machines; empty if unknown.
  std::string device;
  // Number of the last completed work; called by another thread.
  std::function<Result<uint64_t>()> completed;
  // The number of collectives of the current step whose inputs the device had
  // computed when one exceeded its deadline; 0 if unknown.
  std::function<uint64_t()> computed;
};

// By NCCL, for this thread's current device. All ranks call this; it blocks
// until all are connected. Code::Incompatible if a rank has no NCCL or another
// version than rank 0, naming the rank; Code::Usage if two ranks use one
// device, naming both; Code::PeerLost after the timeout.
Result<std::unique_ptr<DeviceCommunicator>>
makeNcclCommunicator(DeviceGroup group);

} // namespace dlc

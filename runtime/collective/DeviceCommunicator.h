// SPDX-License-Identifier: Apache-2.0
// Reductions of a device's memory, as work of the device.
#pragma once

#include "runtime/collective/Communicator.h"

#include <functional>

namespace dlc {

// Every rank enqueues the same reductions in the same order. One thread
// enqueues; a thread of the communicator watches that work gets done. Destroyed
// after all that was recorded with it.
class DeviceCommunicator {
public:
  virtual ~DeviceCommunicator() = default;

  // In place, after what is on `queue` (a stream of the device); returns before
  // it is done. May be recorded. F32, F64, BF16, F16, and I64, I32 for Sum.
  virtual Status allReduce(void *data, size_t count, DType type, ReduceOp op,
                           void *queue) = 0;

  // Of adjacent pieces, one a rank, in their order and of so many elements,
  // `own`, which may be this rank's in `data`, gets this rank's. A piece may be
  // empty. Else as allReduce(), but that the order of a sum may be another.
  virtual Status reduceScatter(void *data, std::span<const size_t> pieces,
                               void *own, DType type, ReduceOp op,
                               void *queue) = 0;

  // In place: of adjacent pieces of so many bytes each rank has its own, in
  // `data` or in `own`, if that is not null; then all have all.
  virtual Status allGather(void *data, std::span<const size_t> pieces,
                           const void *own, void *queue) = 0;

  // The device must have done its work up to number `stamp` within the timeout
  // from now, or from when it did the work before.
  virtual void expect(uint64_t stamp) = 0;

  // PeerLost, naming the rank if that is known, once a reduction failed on
  // another rank or was not done in time, Failed if it failed here: then all
  // reductions were aborted, so that nothing that waits for the device hangs.
  // For any thread.
  virtual Status status() = 0;
};

struct DeviceGroup {
  // Of these ranks; nothing else uses it. It tells who failed.
  std::unique_ptr<Communicator> control;
  std::chrono::milliseconds timeout{60'000};
  // What no other device has, on any machine; empty if that is not known.
  std::string device;
  // The number of the last work that the device has done, as expect() counts;
  // called by another thread.
  std::function<Result<uint64_t>()> completed;
  // How many reductions' inputs the device has computed in the step that it is
  // at; 0 if that is not known. The same, asked when a reduction was late.
  std::function<uint64_t()> computed;
};

// By NCCL, for the device that is current on this thread. All ranks call it; it
// returns when all have met. Incompatible if a rank has no NCCL or another
// version than rank 0, naming it; Usage if two ranks have one device, naming
// both; PeerLost when they do not meet in time.
Result<std::unique_ptr<DeviceCommunicator>>
makeNcclCommunicator(DeviceGroup group);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Collectives on the communication queue of a device, in parallel with its
// computation.
#pragma once

#include "runtime/collective/DeviceCommunicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/reduce/Reducer.h"

#include <functional>
#include <vector>

namespace dlc {

class DeviceReducer final : public Reducer {
public:
  // `queue` must outlive it.
  DeviceReducer(CommunicationQueue &queue,
                std::unique_ptr<DeviceCommunicator> communicator)
      : queue_(queue), communicator_(std::move(communicator)) {}

  Result<int> add(void *data, size_t count, DType type, ReduceOp op) override;
  Result<int> addScatter(void *data, std::vector<size_t> pieces, void *own,
                         DType type, ReduceOp op) override;
  Result<int> addGather(void *data, std::vector<size_t> pieces,
                        const void *own) override;
  Status start(int ticket) override;
  Status wait(int ticket) override;
  Status endStep() override;
  Status status() override { return communicator_->status(); }

private:
  // Enqueues a collective on the device's queue.
  using Collective = std::function<Status(void *queue)>;
  struct Ticket {
    Collective enqueue;
    int point;
  };
  Result<int> add(Collective enqueue);

  CommunicationQueue &queue_;
  std::unique_ptr<DeviceCommunicator> communicator_;
  std::vector<Ticket> tickets_;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Collectives on a device's communication stream, parallel to computation.
#pragma once

#include "runtime/collective/DeviceCommunicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/reduce/LaunchLog.h"
#include "runtime/exec/reduce/Reducer.h"

#include <functional>
#include <memory>
#include <vector>

namespace dlc {

class DeviceReducer final : public Reducer {
public:
  // `queue` and `flight` (or null) must outlive it. Another thread calls
  // `log`'s complete().
  DeviceReducer(CommunicationQueue &queue,
                std::unique_ptr<DeviceCommunicator> communicator,
                FlightLog *flight, std::shared_ptr<LaunchLog> log)
      : queue_(queue), communicator_(std::move(communicator)), flight_(flight),
        log_(std::move(log)) {}

  Result<int> add(void *data, size_t count, DType type, ReduceOp op) override;
  Result<int> addScatter(void *data, std::vector<size_t> pieces, void *own,
                         DType type, ReduceOp op) override;
  Result<int> addGather(void *data, std::vector<size_t> pieces,
                        const void *own) override;
  void describe(int ticket, int64_t bucket, const std::string &nodes) override;
  void announce(std::span<const int> tickets) override;
  Status start(int ticket) override;
  Status wait(int ticket) override;
  Status endStep() override;
  Status status() override { return communicator_->status(); }

private:
  // Enqueues a collective on the given stream.
  using Collective = std::function<Status(void *queue)>;
  struct Ticket {
    const char *operation;
    uint64_t bytes;
    Collective enqueue;
    int point;
    int subject = -1;
  };
  Result<int> add(const char *operation, uint64_t bytes, Collective enqueue);

  CommunicationQueue &queue_;
  std::unique_ptr<DeviceCommunicator> communicator_;
  FlightLog *const flight_;
  const std::shared_ptr<LaunchLog> log_;
  std::vector<Ticket> tickets_;
};

} // namespace dlc

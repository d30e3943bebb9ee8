// All-reduces on the communication queue of a device, beside its computation.
#pragma once

#include "runtime/collective/DeviceCommunicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Reducer.h"

#include <vector>

namespace dlc {

class DeviceReducer final : public Reducer {
public:
  // `queue` outlives it.
  DeviceReducer(CommunicationQueue &queue,
                std::unique_ptr<DeviceCommunicator> communicator)
      : queue_(queue), communicator_(std::move(communicator)) {}

  Result<int> add(void *data, size_t count, DType type, ReduceOp op) override;
  Result<int> addScatter(void *, std::vector<size_t>, void *, DType,
                         ReduceOp) override {
    return incompatible("gradients in parts (--zero) are for CPUs alone so "
                        "far");
  }
  Result<int> addGather(void *, std::vector<size_t>, const void *) override {
    return incompatible("states in parts (--zero) are for CPUs alone so far");
  }
  Status start(int ticket) override;
  Status wait(int ticket) override;
  Status endStep() override;
  Status status() override { return communicator_->status(); }

private:
  struct Reduction {
    void *data;
    size_t count;
    DType type;
    ReduceOp op;
    int point;
  };

  CommunicationQueue &queue_;
  std::unique_ptr<DeviceCommunicator> communicator_;
  std::vector<Reduction> reductions_;
};

} // namespace dlc

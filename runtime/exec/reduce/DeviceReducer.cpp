// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/reduce/DeviceReducer.h"

namespace dlc {

Result<int> DeviceReducer::add(Collective enqueue) {
  DLC_ASSIGN(const int point, queue_.addPoint());
  tickets_.push_back({std::move(enqueue), point});
  return static_cast<int>(tickets_.size()) - 1;
}

Result<int> DeviceReducer::add(void *data, size_t count, DType type,
                               ReduceOp op) {
  return add([=, this](void *queue) {
    return communicator_->allReduce(data, count, type, op, queue);
  });
}

Result<int> DeviceReducer::addScatter(void *data, std::vector<size_t> pieces,
                                      void *own, DType type, ReduceOp op) {
  return add([=, this, pieces = std::move(pieces)](void *queue) {
    return communicator_->reduceScatter(data, pieces, own, type, op, queue);
  });
}

Result<int> DeviceReducer::addGather(void *data, std::vector<size_t> pieces,
                                     const void *own) {
  return add([=, this, pieces = std::move(pieces)](void *queue) {
    return communicator_->allGather(data, pieces, own, queue);
  });
}

Status DeviceReducer::start(int ticket) {
  const Ticket &t = tickets_[static_cast<size_t>(ticket)];
  DLC_TRY(queue_.fork(t.point));
  DLC_TRY(t.enqueue(queue_.handle()));
  return queue_.mark(t.point);
}

Status DeviceReducer::wait(int ticket) {
  return queue_.join(tickets_[static_cast<size_t>(ticket)].point);
}

Status DeviceReducer::endStep() {
  DLC_TRY(communicator_->status());
  DLC_ASSIGN(const uint64_t stamp, queue_.stamp());
  communicator_->expect(stamp);
  return {};
}

} // namespace dlc

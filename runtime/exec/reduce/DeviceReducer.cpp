// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/reduce/DeviceReducer.h"

#include <numeric>

namespace dlc {

static size_t sumOf(const std::vector<size_t> &pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), size_t(0));
}

Result<int> DeviceReducer::add(const char *operation, uint64_t bytes,
                               Collective enqueue) {
  DLC_ASSIGN(const int point, queue_.addPoint());
  tickets_.push_back({operation, bytes, std::move(enqueue), point});
  return static_cast<int>(tickets_.size()) - 1;
}

Result<int> DeviceReducer::add(void *data, size_t count, DType type,
                               ReduceOp op) {
  return add("all_reduce", count * sizeOf(type), [=, this](void *queue) {
    return communicator_->allReduce(data, count, type, op, queue);
  });
}

Result<int> DeviceReducer::addScatter(void *data, std::vector<size_t> pieces,
                                      void *own, DType type, ReduceOp op) {
  const uint64_t bytes = sumOf(pieces) * sizeOf(type);
  return add("reduce_scatter", bytes,
             [=, this, pieces = std::move(pieces)](void *queue) {
               return communicator_->reduceScatter(data, pieces, own, type, op,
                                                   queue);
             });
}

Result<int> DeviceReducer::addGather(void *data, std::vector<size_t> pieces,
                                     const void *own) {
  const uint64_t bytes = sumOf(pieces);
  return add("all_gather", bytes,
             [=, this, pieces = std::move(pieces)](void *queue) {
               return communicator_->allGather(data, pieces, own, queue);
             });
}

void DeviceReducer::describe(int ticket, int64_t bucket,
                             const std::string &nodes) {
  if (flight_)
    tickets_[static_cast<size_t>(ticket)].subject =
        flight_->addSubject(bucket, nodes);
}

void DeviceReducer::announce(std::span<const int> tickets) {
  for (const int ticket : tickets) {
    const Ticket &t = tickets_[static_cast<size_t>(ticket)];
    log_->begin(t.operation, t.bytes, t.subject);
  }
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
  log_->stamp(stamp);
  communicator_->expect(stamp);
  return {};
}

} // namespace dlc

#include "runtime/exec/DeviceReducer.h"

namespace dlc {

Result<int> DeviceReducer::add(void *data, size_t count, DType type,
                               ReduceOp op) {
  DLC_ASSIGN(const int point, queue_.addPoint());
  reductions_.push_back({data, count, type, op, point});
  return static_cast<int>(reductions_.size()) - 1;
}

Status DeviceReducer::start(int ticket) {
  const Reduction &r = reductions_[ticket];
  DLC_TRY(queue_.fork(r.point));
  DLC_TRY(
      communicator_->allReduce(r.data, r.count, r.type, r.op, queue_.handle()));
  return queue_.mark(r.point);
}

Status DeviceReducer::wait(int ticket) {
  return queue_.join(reductions_[ticket].point);
}

Status DeviceReducer::endStep() {
  DLC_TRY(communicator_->status());
  DLC_ASSIGN(const uint64_t stamp, queue_.stamp());
  communicator_->expect(stamp);
  return {};
}

} // namespace dlc

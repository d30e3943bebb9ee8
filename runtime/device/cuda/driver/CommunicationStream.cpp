// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/CommunicationStream.h"

namespace dlc {

Result<int> CommunicationStream::addPoint() {
  DLC_ASSIGN(GpuEvent computed, GpuEvent::create(context_));
  DLC_ASSIGN(GpuEvent communicated, GpuEvent::create(context_));
  std::lock_guard lock(mutex_);
  points_.push_back({std::move(computed), std::move(communicated)});
  return static_cast<int>(points_.size()) - 1;
}

void CommunicationStream::forgetPoints() {
  std::lock_guard lock(mutex_);
  recorded_ = true;
}

uint64_t CommunicationStream::passed() {
  std::lock_guard lock(mutex_);
  if (!context_.makeCurrent().ok())
    return 0;
  uint64_t count = 0;
  for (const Point &point : points_) {
    if (recorded_)
      return 0;
    const Result<bool> done = point.computed.done();
    count += done.ok() && *done;
  }
  return count;
}

Status CommunicationStream::fork(int point) {
  const GpuEvent &event = points_[point].computed;
  DLC_TRY(event.record(context_.compute()));
  return event.holdBack(context_.communication());
}

Status CommunicationStream::mark(int point) {
  return points_[point].communicated.record(context_.communication());
}

Status CommunicationStream::join(int point) {
  return points_[point].communicated.holdBack(context_.compute());
}

// A full ring reuses its oldest event: its number is then reported as completed
// when a later one is.
Result<uint64_t> CommunicationStream::stamp() {
  std::lock_guard lock(mutex_);
  const uint64_t number = stamped_ + 1;
  while (ring_.size() < kStamps) { // all at once, as steps must not allocate
    DLC_ASSIGN(GpuEvent compute, GpuEvent::create(context_));
    DLC_ASSIGN(GpuEvent communication, GpuEvent::create(context_));
    ring_.push_back({0, std::move(compute), std::move(communication)});
  }
  Stamp &stamp = ring_[(number - 1) % kStamps];
  stamp.number = number;
  DLC_TRY(stamp.compute.record(context_.compute()));
  DLC_TRY(stamp.communication.record(context_.communication()));
  stamped_ = number;
  return number;
}

Result<uint64_t> CommunicationStream::completed() {
  std::lock_guard lock(mutex_);
  DLC_TRY(context_.makeCurrent());
  for (const Stamp &stamp : ring_) {
    if (stamp.number <= completed_)
      continue;
    DLC_ASSIGN(const bool computed, stamp.compute.done());
    if (!computed)
      continue;
    DLC_ASSIGN(const bool communicated, stamp.communication.done());
    if (communicated)
      completed_ = stamp.number;
  }
  return completed_;
}

} // namespace dlc

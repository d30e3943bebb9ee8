// SPDX-License-Identifier: Apache-2.0
// The stream of collectives, ordered with the stream of computation by events.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/driver/Context.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace dlc {

class CommunicationStream final : public CommunicationQueue {
public:
  explicit CommunicationStream(const GpuContext &context) : context_(context) {}

  std::string device() const override { return context_.properties().uuid; }
  void *handle() const override { return context_.communication(); }
  Result<int> addPoint() override;
  Status fork(int point) override;
  Status mark(int point) override;
  Status join(int point) override;
  Result<uint64_t> stamp() override;
  Result<uint64_t> completed() override;
  uint64_t passed() override;

  // Called when events are recorded from now on, so they cannot be queried.
  void forgetPoints();

private:
  struct Point {
    GpuEvent computed, communicated;
  };
  // A number, and the event after which earlier work of both streams is done.
  struct Stamp {
    uint64_t number;
    GpuEvent compute, communication;
  };
  static constexpr size_t kStamps = 16;

  const GpuContext &context_;
  std::mutex mutex_; // of the members below
  std::deque<Point> points_;
  bool recorded_ = false;
  std::vector<Stamp> ring_;
  std::atomic<uint64_t> stamped_ = 0;
  uint64_t completed_ = 0;
};

} // namespace dlc

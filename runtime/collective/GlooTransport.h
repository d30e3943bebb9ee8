// SPDX-License-Identifier: Apache-2.0
// Wraps Gloo's transport so that its calls also end when a rank is lost, and
// their deadlines pause while this process is stopped.
//
// When a connection closes, Gloo wakes waits for operations that it has not
// begun. Waits for a half-finished operation, or for one begun just after the
// peer left, last until their deadline. This transport ends them. It also
// checks deadlines by RunningClock, because Gloo's own clock continues while a
// process is stopped.
#pragma once

#include <gloo/transport/device.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace dlc {

// Tracks all operations between the ranks in a process; any thread may call it.
class GlooTransport : public gloo::transport::Device,
                      public std::enable_shared_from_this<GlooTransport> {
public:
  // Wraps `device`, which does the communication.
  explicit GlooTransport(std::shared_ptr<gloo::transport::Device> device)
      : device_(std::move(device)), thread_([this] { endLateWaits(); }) {}
  ~GlooTransport() override;

  std::string str() const override { return device_->str(); }
  const std::string &getPCIBusID() const override {
    return device_->getPCIBusID();
  }
  std::shared_ptr<gloo::transport::Context> createContext(int rank,
                                                          int size) override;

  // The rank is lost: ends current waits and later operations with
  // gloo::IoException. Does not block, whatever Gloo's threads are doing.
  void lose(int rank);

  // The rank for which the last failed wait waited, if it was only one.
  std::optional<int> waitedFor() const;

private:
  class Context;
  class Buffer;

  void throwIfLost() const;
  void endLateWaits();

  const std::shared_ptr<gloo::transport::Device> device_;
  static constexpr int kNobody = -1;
  std::atomic<int> lost_ = kNobody;
  mutable std::mutex mutex_; // of the following
  std::optional<int> waitedFor_;
  std::set<Context *> contexts_;
  bool stop_ = false;
  std::condition_variable stopped_;
  std::thread thread_; // last: uses the other members
};

} // namespace dlc

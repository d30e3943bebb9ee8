// SPDX-License-Identifier: Apache-2.0
// Gloo's transport, whose calls also end when a rank is lost, and whose
// deadlines do not pass while this process is stopped.
//
// When a connection closes, Gloo wakes waits for operations that it has not
// begun. Waits for a half-finished operation, or for one begun just after the
// peer left, last until their deadline. This transport ends them, and those
// that are too late by RunningClock: Gloo's own clock goes on in a process that
// is stopped.
#pragma once

#include <gloo/transport/device.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace dlc {

// All operations between the ranks in a process; any thread may query and
// notify it.
class GlooTransport : public gloo::transport::Device,
                      public std::enable_shared_from_this<GlooTransport> {
public:
  // Around one that does the work.
  explicit GlooTransport(std::shared_ptr<gloo::transport::Device> device)
      : device_(std::move(device)), thread_([this] { endLateWaits(); }) {}
  ~GlooTransport() override;

  std::string str() const override { return device_->str(); }
  const std::string &getPCIBusID() const override {
    return device_->getPCIBusID();
  }
  std::shared_ptr<gloo::transport::Context> createContext(int rank,
                                                          int size) override;

  // Ends current waits and later operations with gloo::IoException.
  void lose(int rank);

  // The only rank that the last failed wait waited for.
  std::optional<int> waitedFor() const;

private:
  class Context;
  class Buffer;

  void throwIfLost() const;
  void endLateWaits();

  const std::shared_ptr<gloo::transport::Device> device_;
  mutable std::mutex mutex_; // of what follows
  std::optional<int> lost_, waitedFor_;
  std::set<Context *> contexts_;
  bool stop_ = false;
  std::condition_variable stopped_;
  std::thread thread_; // last: it uses the rest
};

} // namespace dlc

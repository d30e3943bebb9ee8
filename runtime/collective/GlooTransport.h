// SPDX-License-Identifier: Apache-2.0
// Gloo's transport, whose calls also end when a rank is lost.
//
// When a connection closes, Gloo wakes those who wait for what it has not begun
// to send or to receive; who waits for what is half done, or was begun when the
// peer had just gone, is left to its deadline. Here they are told from outside.
#pragma once

#include <gloo/transport/device.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>

namespace dlc {

// All that goes on between the ranks in a process; any thread may ask and tell.
class GlooTransport : public gloo::transport::Device,
                      public std::enable_shared_from_this<GlooTransport> {
public:
  // Around one that does the work.
  explicit GlooTransport(std::shared_ptr<gloo::transport::Device> device)
      : device_(std::move(device)) {}

  std::string str() const override { return device_->str(); }
  const std::string &getPCIBusID() const override {
    return device_->getPCIBusID();
  }
  std::shared_ptr<gloo::transport::Context> createContext(int rank,
                                                          int size) override;

  // Ends, with gloo::IoException, what waits now and what is tried later.
  void lose(int rank);

  // The one rank for which the wait that failed last has waited.
  std::optional<int> waitedFor() const;

private:
  class Context;
  class Buffer;

  void throwIfLost() const;

  const std::shared_ptr<gloo::transport::Device> device_;
  mutable std::mutex mutex_; // of what follows
  std::optional<int> lost_, waitedFor_;
  std::set<Context *> contexts_;
};

} // namespace dlc

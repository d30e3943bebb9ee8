// SPDX-License-Identifier: Apache-2.0
// Gloo's transport, whose calls also end when a rank is lost.
//
// When a connection closes, Gloo wakes waits for operations that it has not
// begun. Waits for a half-finished operation, or for one begun just after the
// peer left, last until their deadline. This transport ends them.
#pragma once

#include <gloo/transport/device.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>

namespace dlc {

// All operations between the ranks in a process; any thread may query and
// notify it.
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

  // Ends current waits and later operations with gloo::IoException.
  void lose(int rank);

  // The only rank that the last failed wait waited for.
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

// SPDX-License-Identifier: Apache-2.0
// A rank's sign of life, and what it hears of the others'.
#pragma once

#include "runtime/collective/Socket.h"
#include "runtime/collective/store/Heartbeats.h"
#include "runtime/collective/store/Protocol.h"

#include <functional>
#include <optional>
#include <thread>

namespace dlc {

// A rank that the others can no longer count on.
struct LostRank {
  int rank = 0;
  // It is stopped, cannot be reached, or did not come where others waited;
  // else its connection closed.
  bool silent = false;
  // Not to be reached by this one, nor it by that: both are there.
  std::optional<int> partedFrom = {};
};

// A rank's place in the job for as long as it lives: when its connection closes
// without a farewell, or nothing comes over it for too long, the rank is lost.
// A store that is silent as long is a lost rank 0.
class JobWatch {
public:
  // `socket` as joinStore() makes it. `lost` is called at most once, by a
  // thread of the watch, with the rank that is gone first: this one, if the
  // others gave it up. `progress`, by the same thread: progressOf().
  JobWatch(Socket socket, std::chrono::milliseconds silence,
           std::function<void(LostRank)> lost,
           std::function<int64_t()> progress);
  // Says farewell, unless the rank was abandoned.
  ~JobWatch();

  void abandon() { abandoned_ = true; }

private:
  using Clock = Socket::Clock;

  std::optional<LostRank> watch();
  bool say(const store::Message &message, std::chrono::seconds patience) const;

  Socket socket_;
  const std::chrono::milliseconds silence_;
  std::function<void(LostRank)> lost_;
  std::function<int64_t()> progress_;
  bool abandoned_ = false;
  int wake_; // readable: the thread is to end
  std::thread thread_;
};

} // namespace dlc

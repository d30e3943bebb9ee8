// SPDX-License-Identifier: Apache-2.0
// A rank's heartbeats, and notices of lost ranks.
#pragma once

#include "runtime/collective/Socket.h"
#include "runtime/collective/store/Heartbeats.h"
#include "runtime/collective/store/Protocol.h"

#include <functional>
#include <optional>
#include <thread>

namespace dlc {

// A lost rank.
struct LostRank {
  int rank = 0;
  // It is stopped, unreachable, or late; otherwise its connection closed.
  bool silent = false;
  // It and this rank cannot reach each other, though both are alive.
  std::optional<int> partedFrom = {};
};

// A rank's membership in the job while this object lives: when its connection
// closes without a farewell, or carries nothing for too long, the rank is lost.
// A store that is silent for that long means that rank 0 is lost.
class JobWatch {
public:
  // `socket` from joinStore(). A thread of the watch calls `lost` at most once,
  // with the first lost rank, which may be this one if the others gave it up;
  // the same thread calls `progress`, which returns progressOf(). It calls
  // `reach` while nothing is heard, at each heartbeat: whether rank 0 answers
  // over another connection, as it does as soon as a broken link is mended,
  // while a connection waits ever longer before it sends again.
  JobWatch(
      Socket socket, std::chrono::milliseconds silence,
      std::function<void(LostRank)> lost, std::function<int64_t()> progress,
      std::function<bool()> reach = [] { return false; });
  // Sends the farewell, unless the rank was abandoned.
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
  std::function<bool()> reach_;
  bool abandoned_ = false;
  int wake_; // readable: the thread is to end
  std::thread thread_;
};

} // namespace dlc

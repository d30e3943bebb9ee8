// SPDX-License-Identifier: Apache-2.0
// Sends a rank's heartbeats, and receives notices of lost ranks.
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
  // The rank is stopped, unreachable, or late; otherwise its connection closed.
  bool silent = false;
  // The rank and this one cannot reach each other, though both are alive.
  std::optional<int> partedFrom = {};
};

// A rank's membership in the job while this object lives: when its connection
// closes without a farewell, or carries nothing for too long, the rank is lost.
// If the store is silent for that long, rank 0 is lost.
class JobWatch {
public:
  // `socket` is from joinStore(). A thread of the watch calls `lost` at most
  // once, with the first lost rank, which may be this one if the others gave it
  // up; the same thread calls `progress`, which returns progressOf(). While it
  // receives nothing, it calls `reach` at each heartbeat, which returns whether
  // rank 0 answers over a new connection: that works as soon as a broken link
  // is repaired, while TCP's retransmission delay on the old one grows.
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
  int wake_; // readable: the thread must end
  std::thread thread_;
};

} // namespace dlc

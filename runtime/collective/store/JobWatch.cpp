// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/JobWatch.h"

#include "runtime/collective/store/TcpStore.h"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace dlc {

using namespace store;
using std::chrono::milliseconds;

JobWatch::JobWatch(Socket socket, milliseconds silence,
                   std::function<void(LostRank)> lost,
                   std::function<int64_t()> progress,
                   std::function<bool()> reach)
    : socket_(std::move(socket)), silence_(silence), lost_(std::move(lost)),
      progress_(std::move(progress)), reach_(std::move(reach)),
      wake_(::eventfd(0, EFD_CLOEXEC)) {
  socket_.noticeVanishedPeer(3 * silence);
  thread_ = std::thread([this] {
    if (const auto lost = watch())
      lost_(*lost);
  });
}

JobWatch::~JobWatch() {
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
  if (!abandoned_)
    say({Query::Farewell, {}, {}, 0}, std::chrono::seconds(1));
}

bool JobWatch::say(const Message &message,
                   std::chrono::seconds patience) const {
  const std::string bytes = textOf(message);
  return socket_.send(bytes.data(), bytes.size(), Clock::now() + patience);
}

// Runs until a rank is lost, or the store or this object ends the watch.
std::optional<LostRank> JobWatch::watch() {
  const milliseconds pause = pauseBetweenBeats(silence_);
  const LostRank closed{0, false};
  if (!say({Query::Watch, {}, {}, 0}, StoreLimits::kPatience))
    return closed;
  Clock::time_point heard = Clock::now(), due = heard;
  for (;;) {
    if (Clock::now() >= due) {
      if (!say({Query::Beat, {}, {}, progress_()}, StoreLimits::kPatience))
        return closed;
      due = Clock::now() + pause;
      if (silence_ > milliseconds(0) && due - heard > 4 * pause && reach_())
        heard = Clock::now();
    }
    pollfd entries[] = {{socket_.descriptor(), POLLIN, 0}, {wake_, POLLIN, 0}};
    ::poll(entries, 2, static_cast<int>(Clock::sliceUntil(due).count()));
    if (entries[1].revents)
      return std::nullopt;
    const auto now = Clock::now();
    if (entries[0].revents) {
      uint32_t word = 0;
      heard = now;
      if (!socket_.receive(&word, sizeof word, now + StoreLimits::kPatience))
        return closed;
      if (word == kEnd)
        return std::nullopt;
      if (word == kParted) {
        uint32_t pair[2] = {};
        if (!socket_.receive(pair, sizeof pair, now + StoreLimits::kPatience))
          return closed;
        return LostRank{static_cast<int>(pair[0]), true,
                        static_cast<int>(pair[1])};
      }
      if (word == kAsk)
        due = now;
      else if (word != kBeat)
        return LostRank{static_cast<int>(word & ~kSilent),
                        (word & kSilent) > 0};
    } else if (silence_ > milliseconds(0) && now - heard > silence_) {
      return LostRank{0, true};
    }
  }
}

} // namespace dlc

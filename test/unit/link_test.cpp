// SPDX-License-Identifier: Apache-2.0
// Ranks that are stopped together, or whose link to rank 0 is interrupted.
#include "runtime/collective/store/JobStore.h"
#include "runtime/collective/store/JobWatch.h"
#include "runtime/collective/store/TcpStore.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc;
using namespace std::chrono_literals;
using Clock = Socket::Clock;

namespace {

// Rank 0 waits most of the time. The communicator's end says farewell, without
// which the rank that leaves first is lost to one in its last barrier.
Status run(const Rendezvous &meeting) {
  const auto ranks = makeGlooCommunicator(meeting);
  Status status = ranks.status();
  for (int i = 0; status.ok() && i < 10; ++i) {
    if (meeting.rank == 1)
      std::this_thread::sleep_for(200ms);
    status = (*ranks)->barrier();
  }
  if (!status.ok())
    std::cerr << "rank " << meeting.rank << ": " << status.message() << '\n';
  return status;
}

// It comes first: it forks, which threads could disturb.
// Ctrl-Z, or a suspended job: for longer than any deadline. A deadline is far
// above RunningClock::kMost, which the stop costs each rank: on a busy machine
// one rank goes on before the other.
TEST(Stopped, RanksThatAreStoppedTogetherGoOn) {
  const auto made = meetHere(2);
  ASSERT_TRUE(made.ok()) << made.status().message();
  Rendezvous meeting = *made;
  meeting.timeout = 3s;
  meeting.silence = 3s;
  std::vector<pid_t> children;
  for (meeting.rank = 0; meeting.rank < 2; ++meeting.rank) {
    children.push_back(::fork());
    if (children.back() > 0)
      continue;
    ::_exit(run(meeting).ok() ? 0 : 1);
  }
  ::close(meeting.listener);
  std::this_thread::sleep_for(1s);
  for (const pid_t child : children)
    ::kill(child, SIGSTOP);
  std::this_thread::sleep_for(4s);
  for (const pid_t child : children)
    ::kill(child, SIGCONT);
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

bool within(std::chrono::milliseconds limit,
            const std::function<bool()> &condition) {
  const auto end = Clock::now() + limit;
  while (!condition() && Clock::now() < end)
    std::this_thread::sleep_for(2ms);
  return condition();
}

// What connects two sockets while the link is there. A connection that was open
// when it was not stays silent for longer, as TCP's do; a new one is not made
// to wait.
class Link {
public:
  explicit Link(int to) : listener_(*Socket::listen("127.0.0.1", 0)) {
    thread_ = std::thread([this, to] { work(to); });
  }
  ~Link() {
    stop_ = true;
    thread_.join();
  }
  int port() const { return listener_.port(); }
  std::atomic<bool> broken = false;

private:
  struct Pair {
    Socket from, to;
    bool silent = false, over = false;
  };
  // False at the end.
  static bool pass(const Socket &from, const Socket &to) {
    char bytes[4096];
    const ssize_t count =
        ::recv(from.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0)
      to.send(bytes, size_t(count), Clock::now() + 1s);
    return count != 0;
  }
  void work(int to) {
    std::vector<Pair> pairs;
    for (; !stop_; std::this_thread::sleep_for(2ms)) {
      Socket from(::accept4(listener_.descriptor(), nullptr, nullptr,
                            SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (from.descriptor() >= 0 && !broken)
        pairs.push_back({std::move(from),
                         *Socket::connect("127.0.0.1", to, Clock::now() + 1s)});
      for (Pair &pair : pairs) {
        pair.silent |= broken;
        if (!pair.silent)
          pair.over = !pass(pair.from, pair.to) || !pass(pair.to, pair.from);
      }
      std::erase_if(pairs, [](const Pair &pair) { return pair.over; });
    }
  }
  const Socket listener_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST(Link, OneThatBlinksLosesNobody) {
  auto listener = Socket::listen("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  Rendezvous near;
  near.size = 2;
  near.address = "127.0.0.1";
  near.port = listener->port();
  near.timeout = 5s;
  const auto server = TcpStoreServer::serve(*std::move(listener), 2, "", 1s);
  ASSERT_TRUE(server.ok());
  Link link(near.port);
  Rendezvous far = near;
  far.rank = 1;
  far.port = link.port();
  std::atomic<int> heard = 0;
  const auto begun = [] { return int64_t(0); };
  const auto listen = [&](LostRank) { ++heard; };
  auto first = joinStore(near), second = joinStore(far);
  ASSERT_TRUE(first.ok() && second.ok());
  JobWatch here(*std::move(first), 1s, listen, begun),
      there(*std::move(second), 1s, listen, begun, [&far] {
        Rendezvous soon = far;
        soon.timeout = 100ms;
        return joinStore(soon).ok();
      });
  std::this_thread::sleep_for(300ms);
  link.broken = true;
  std::this_thread::sleep_for(600ms);
  link.broken = false;
  std::this_thread::sleep_for(2s);
  EXPECT_EQ(heard, 0);
  link.broken = true; // and one that stays so does
  EXPECT_TRUE(within(2s, [&] { return heard == 2; })) << heard;
}

} // namespace

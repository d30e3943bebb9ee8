// SPDX-License-Identifier: Apache-2.0
// runtime/collective: two ranks that do not reach each other, though both are
// there, are named by all.
#include "runtime/collective/Communicator.h"
#include "runtime/collective/store/Parted.h"

#include <gtest/gtest.h>

#include <array>
#include <fmt/ranges.h>
#include <functional>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc;
using namespace std::chrono_literals;

namespace {

// This process's connections: descriptor, own port, the other side's.
std::vector<std::array<int, 3>> connections() {
  std::vector<std::array<int, 3>> found;
  for (int file = 0; file < 1024; ++file) {
    sockaddr_in own{}, other{};
    socklen_t size = sizeof own, otherSize = sizeof other;
    if (::getsockname(file, reinterpret_cast<sockaddr *>(&own), &size) == 0 &&
        ::getpeername(file, reinterpret_cast<sockaddr *>(&other), &otherSize) ==
            0 &&
        own.sin_family == AF_INET)
      found.push_back({file, own.sin_port, other.sin_port});
  }
  return found;
}

// Nothing arrives any more at this end of the connection to the rank with these
// ports.
void dropWhatComesFrom(const std::string &ports) {
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &drop};
  for (const auto &[file, own, other] : connections())
    if (ports.find(fmt::format(" {} ", other)) != ports.npos)
      ::setsockopt(file, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                   sizeof program);
}

// Ranks 1 and 2 are parted before so many reductions. All name both.
void expectPartedAreNamed(Rendezvous meeting, size_t elements, int times) {
  meeting.timeout = 1s;
  const auto outcome = [&](int rank) {
    meeting.rank = rank;
    auto ranks = makeGlooCommunicator(meeting);
    if (!ranks.ok())
      return ranks.status();
    std::string ports = " ";
    for (const auto &connection : connections())
      ports += fmt::format("{} ", connection[1]);
    const auto all = (*ranks)->allGather(ports);
    if (!all.ok())
      return all.status();
    if (rank == 1)
      dropWhatComesFrom((*all)[2]);
    std::vector<float> bucket(elements);
    Status status;
    for (int time = 0; time < times && status.ok(); ++time)
      status = (*ranks)->allReduce(bucket.data(), bucket.size(), DType::F32,
                                   ReduceOp::Mean);
    return status;
  };
  const auto expected = [](const Status &status) {
    return status.code() == Code::PeerLost &&
           status.message().starts_with(
               "ranks 1 and 2 do not reach each other in all_reduce (hosts: ");
  };
  std::vector<pid_t> children;
  for (int rank : {1, 2}) {
    children.push_back(::fork());
    if (children.back() == 0)
      ::_exit(expected(outcome(rank)) ? 0 : 1);
  }
  const auto begin = std::chrono::steady_clock::now();
  const Status status = outcome(0);
  EXPECT_TRUE(expected(status)) << status.message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
  for (pid_t child : children) {
    int end = -1;
    ::waitpid(child, &end, 0);
    EXPECT_EQ(end, 0);
  }
}

// Rank 0 waits for what they cannot add up, and may be the first whose deadline
// is over.
TEST(Parted, TwoThatDoNotReachEachOtherAreNamed) {
  expectPartedAreNamed(*meetHere(3), 100'000, 1);
}

// The same where rank 0 has what it needs of the first reduction, and waits in
// the next.
TEST(Parted, TwoAreNamedByOneThatIsAhead) {
  expectPartedAreNamed(*meetHere(3), 2'000, 2);
}

TEST(Parted, ThePairThatTheOthersWaitFor) {
  const auto start = Parted::Clock::now();
  using Misses = std::vector<std::pair<int, int>>;
  const auto verdict = [&](const Misses &misses) {
    Parted parted;
    for (const auto &[who, whom] : misses)
      parted.miss(who, whom, start);
    return parted.find(start + Parted::kMoment).value_or(std::pair(-1, -1));
  };
  EXPECT_EQ(verdict({}), std::pair(-1, -1));
  EXPECT_EQ(verdict({{2, 1}}), std::pair(1, 2));
  EXPECT_EQ(verdict({{0, 1}, {1, 2}, {2, 1}}), std::pair(1, 2));
  EXPECT_EQ(verdict({{0, 3}, {3, 2}}), std::pair(2, 3)); // 2 has not said yet
  EXPECT_EQ(verdict({{2, 1}, {1, 0}, {0, 2}}), std::pair(1, 2)); // a circle
  EXPECT_EQ(verdict({{1, 1}}), std::pair(-1, -1));
}

TEST(Parted, IsKnownAMomentAfterTheFirstOrOfBoth) {
  const auto start = Parted::Clock::now();
  Parted parted;
  EXPECT_FALSE(parted.due());
  parted.miss(0, 1, start);
  parted.miss(0, 2, start); // it has said already
  EXPECT_FALSE(parted.find(start + Parted::kMoment - 1ms));
  parted.miss(1, 2, start + 10ms);
  EXPECT_EQ(parted.due(), start + Parted::kMoment);
  parted.miss(2, 1, start + 20ms);
  EXPECT_EQ(parted.due(), start + 20ms);
  EXPECT_EQ(parted.find(start + 20ms), std::pair(1, 2));
  EXPECT_FALSE(parted.due()); // it is told once
  EXPECT_FALSE(parted.find(start + 1s));
}

} // namespace

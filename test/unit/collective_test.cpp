// SPDX-License-Identifier: Apache-2.0
// runtime/collective: sums and means over ranks, lost and silent peers.
#include "runtime/collective/Communicator.h"
#include "runtime/collective/Hosts.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/flight/FlightLog.h"
#include "test/support/FreePort.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <functional>
#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dlc;
using namespace std::chrono_literals;

namespace {

using Ranks = std::vector<std::unique_ptr<Communicator>>;

// Runs f(communicator) on the ranks that meet as `meeting` says.
void onRanks(Rendezvous meeting, const std::function<void(Communicator &)> &f) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < meeting.size; ++rank)
    threads.emplace_back([=] {
      Rendezvous own = meeting;
      own.rank = rank;
      if (!meeting.host.empty()) // a letter a rank
        own.host = meeting.host.substr(static_cast<size_t>(rank), 1);
      auto communicator = makeGlooCommunicator(own);
      ASSERT_TRUE(communicator.ok()) << communicator.status().message();
      f(**communicator);
    });
  for (std::thread &thread : threads)
    thread.join();
}

class Gloo : public testing::Test {
protected:
  Rendezvous here(int size) const {
    auto meeting = meetHere(size);
    EXPECT_TRUE(meeting.ok()) << meeting.status().message();
    meeting->timeout = 10s;
    return *meeting;
  }
};

// These come first: they fork, which threads of earlier tests could disturb.
// A child process is rank 1: it joins one all-reduce, then does `end`.
class Peer : public Gloo {
protected:
  Status loseRankOne(const std::function<void()> &end, int size = 2,
                     std::chrono::milliseconds timeout = 2s) {
    Rendezvous meeting = here(size);
    meeting.timeout = timeout;
    std::vector<pid_t> children;
    for (int rank = 1; rank < size; ++rank) {
      children.push_back(::fork());
      if (children.back() == 0) {
        meeting.rank = rank;
        auto ranks = makeGlooCommunicator(meeting);
        float value = 1;
        bool joined =
            ranks.ok() &&
            (*ranks)->allReduce(&value, 1, DType::F32, ReduceOp::Sum).ok();
        if (rank == 1) {
          std::this_thread::sleep_for(200ms); // the others have ended it, too
          end();
        } else
          (void)(*ranks)->barrier().ok();
        ::_exit(joined ? 0 : 1);
      }
    }
    auto ranks = makeGlooCommunicator(meeting);
    EXPECT_TRUE(ranks.ok()) << ranks.status().message();
    float value = 1;
    EXPECT_TRUE((*ranks)->allReduce(&value, 1, DType::F32, ReduceOp::Sum).ok());
    auto begin = std::chrono::steady_clock::now();
    std::vector<float> bucket(100'000);
    Status status = (*ranks)->allReduce(bucket.data(), bucket.size(),
                                        DType::F32, ReduceOp::Mean);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
    for (pid_t child : children) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    return status;
  }
};

// Long before the deadline.
TEST_F(Peer, DeathIsAnErrorThatNamesTheRank) {
  Status status = loseRankOne([] { ::kill(::getpid(), SIGKILL); }, 2, 30s);
  EXPECT_EQ(status.code(), Code::PeerLost);
  EXPECT_NE(status.message().find("rank 1"), std::string::npos)
      << status.message();
}

TEST_F(Peer, OneOfThreeDies) {
  Status status = loseRankOne([] { ::kill(::getpid(), SIGKILL); }, 3, 30s);
  EXPECT_EQ(status.code(), Code::PeerLost) << status.message();
  EXPECT_NE(status.message().find("rank 1 is lost"), std::string::npos)
      << status.message();
}

TEST_F(Peer, SilenceEndsAtTheDeadline) {
  Status status = loseRankOne([] { ::kill(::getpid(), SIGSTOP); });
  EXPECT_EQ(status.code(), Code::PeerLost);
  EXPECT_NE(status.message().find("rank 1 does not answer"), std::string::npos)
      << status.message();
}

// The ring tells a rank only of its neighbours.
TEST_F(Peer, SilentOneOfFourIsNamed) {
  Status status = loseRankOne([] { ::kill(::getpid(), SIGSTOP); }, 4);
  EXPECT_EQ(status.code(), Code::PeerLost);
  EXPECT_NE(status.message().find("rank 1 does not answer in all_reduce"),
            std::string::npos)
      << status.message();
}

// Its thread of the watch gives signs of life: it is waited for.
TEST_F(Gloo, ASlowRankIsNotSilent) {
  Rendezvous meeting = here(2);
  meeting.silence = 1s;
  onRanks(meeting, [](Communicator &ranks) {
    if (ranks.rank() == 1)
      std::this_thread::sleep_for(3s);
    float value = 1;
    EXPECT_TRUE(ranks.allReduce(&value, 1, DType::F32, ReduceOp::Sum).ok());
    EXPECT_EQ(value, 2);
  });
}

TEST_F(Gloo, GathersPiecesInPlace) {
  for (int size : {1, 2, 3})
    onRanks(here(size), [size](Communicator &ranks) {
      const std::vector<size_t> all{5, 0, 70000};
      const std::vector<size_t> pieces(all.end() - size, all.end());
      std::string data, expected;
      for (int rank = 0; rank < size; ++rank) {
        const size_t bytes = pieces[static_cast<size_t>(rank)];
        expected.append(bytes, char('a' + rank));
        data.append(bytes, rank == ranks.rank() ? char('a' + rank) : '?');
      }
      for (int time = 0; time < 3; ++time)
        EXPECT_TRUE(ranks.allGather(data.data(), pieces).ok());
      EXPECT_EQ(data, expected);
    });
}

// All others wait for it in the same place, and say so at the same time.
TEST_F(Gloo, OneThatDoesNotComeIsNamedAtTheDeadline) {
  Rendezvous meeting = here(3);
  meeting.timeout = 1s;
  std::vector<Status> ends(3);
  std::vector<double> seconds(3);
  std::atomic<int> ended = 0;
  onRanks(meeting, [&](Communicator &ranks) {
    const auto at = static_cast<size_t>(ranks.rank());
    const int bucket = ranks.flightLog()->addSubject(7, "/a; /b; /c; /d; /e");
    ranks.flightLog()->setStep(12);
    if (ranks.rank() == 2) { // alive, and elsewhere
      while (ended < 2)
        std::this_thread::sleep_for(5ms);
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    std::vector<float> values(1000);
    ranks.setSubject(bucket);
    ends[at] = ranks.allReduce(values.data(), values.size(), DType::F32,
                               ReduceOp::Sum);
    seconds[at] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    ++ended;
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ends[rank].code(), Code::PeerLost);
    EXPECT_TRUE(ends[rank].message().starts_with(
        "rank 2 does not answer in all_reduce of bucket 7, step 12, gradients "
        "of '/a', '/b', '/c' and 2 more (its host: "))
        << ends[rank].message();
    EXPECT_LT(seconds[rank], 1.5);
  }
}

TEST_F(Gloo, SiblingsWorkSideBySide) {
  onRanks(here(3), [](Communicator &ranks) {
    auto first = ranks.sibling(10s);
    ASSERT_TRUE(first.ok()) << first.status().message();
    auto second = (*first)->sibling(10s);
    ASSERT_TRUE(second.ok()) << second.status().message();
    const auto work = [](Communicator &own, double part) {
      for (int i = 0; i < 100; ++i) {
        std::vector<double> values(1000, part);
        ASSERT_TRUE(own.allReduce(values.data(), values.size(), DType::F64,
                                  ReduceOp::Sum)
                        .ok());
        ASSERT_EQ(values[999], 3 * part);
      }
    };
    std::thread other([&] { work(**first, 2); });
    std::thread third([&] { work(**second, 3); });
    work(ranks, 1);
    other.join();
    third.join();
  });
}

TEST_F(Gloo, SumAndMean) {
  onRanks(here(3), [](Communicator &ranks) {
    std::vector<float> values = {1, 2, 3, 4, static_cast<float>(ranks.rank())};
    ASSERT_TRUE(
        ranks.allReduce(values.data(), 5, DType::F32, ReduceOp::Sum).ok());
    EXPECT_EQ(values, (std::vector<float>{3, 6, 9, 12, 3}));
    std::vector<double> mean = {ranks.rank() * 3.0};
    ASSERT_TRUE(
        ranks.allReduce(mean.data(), 1, DType::F64, ReduceOp::Mean).ok());
    EXPECT_DOUBLE_EQ(mean[0], 3.0);
    std::vector<uint16_t> half(7, toBf16(2));
    ASSERT_TRUE(
        ranks.allReduce(half.data(), 7, DType::BF16, ReduceOp::Sum).ok());
    EXPECT_EQ(half, std::vector<uint16_t>(7, toBf16(6)));
    // The least and the largest number, whose third and whose sum have no f16.
    std::vector<uint16_t> ends = {toF16(0x1p-24f), toF16(65504)};
    const std::vector<uint16_t> same = ends;
    ASSERT_TRUE(
        ranks.allReduce(ends.data(), 2, DType::F16, ReduceOp::Mean).ok());
    EXPECT_EQ(ends, same);
  });
}

// Element i of rank `rank`: values whose sum depends on the order of adding.
std::vector<float> valuesOf(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::ldexp(1.0f + 0.37f * static_cast<float>(rank) +
                               1e-6f * static_cast<float>(i % 9973),
                           (static_cast<int>(i) * 7 + rank * 5) % 23 - 11);
  return values;
}

// In one message, in one segment, in many; the same bits by both functions,
// wherever pieces begin.
TEST_F(Gloo, SumsInTheOrderOfTheRanks) {
  for (int size : {2, 3, 4})
    for (size_t count : {size_t(1), size_t(7), size_t(30'000), size_t(700'001)})
      onRanks(here(size), [=](Communicator &ranks) {
        std::vector<float> all = valuesOf(ranks.rank(), count);
        ASSERT_TRUE(
            ranks.allReduce(all.data(), count, DType::F32, ReduceOp::Sum).ok());
        std::vector<float> expected = valuesOf(0, count);
        for (int rank = 1; rank < size; ++rank) {
          const std::vector<float> next = valuesOf(rank, count);
          for (size_t i = 0; i < count; ++i)
            expected[i] += next[i];
        }
        ASSERT_EQ(all, expected) << size << " ranks, " << count;
        // Rank 0 has nothing, the last one most.
        std::vector<size_t> pieces(static_cast<size_t>(size), count / 5);
        pieces.front() = 0;
        pieces.back() = count - count / 5 * (static_cast<size_t>(size) - 2);
        size_t begin = 0;
        for (int rank = 0; rank < ranks.rank(); ++rank)
          begin += pieces[static_cast<size_t>(rank)];
        const size_t mine = pieces[static_cast<size_t>(ranks.rank())];
        for (bool inPlace : {false, true}) {
          std::vector<float> data = valuesOf(ranks.rank(), count), own(mine);
          float *to = inPlace ? data.data() + begin : own.data();
          ASSERT_TRUE(ranks
                          .reduceScatter(data.data(), pieces, to, DType::F32,
                                         ReduceOp::Sum)
                          .ok());
          ASSERT_TRUE(std::equal(to, to + mine, expected.begin() + begin));
        }
        std::vector<float> gathered(count, -1);
        std::copy_n(expected.begin() + begin, mine, gathered.begin() + begin);
        for (size_t &piece : pieces)
          piece *= sizeof(float);
        ASSERT_TRUE(ranks.allGather(gathered.data(), pieces).ok());
        ASSERT_EQ(gathered, expected);
      });
}

// Each host's ranks in their order, then the hosts in theirs; short messages as
// ever. Ranks of a host need not follow each other.
TEST_F(Gloo, SumsByHosts) {
  for (const std::string hosts : {"aabb", "abab", "abcabc", "aaabbb"})
    for (size_t count : {size_t(7), size_t(30'001), size_t(700'001)}) {
      Rendezvous meeting = here(static_cast<int>(hosts.size()));
      meeting.byHosts = true;
      meeting.host = hosts;
      std::map<char, std::vector<float>> sums;
      for (size_t rank = 0; rank < hosts.size(); ++rank) {
        // 7 elements go as one message, by rank.
        std::vector<float> &sum = sums[count == 7 ? 'a' : hosts[rank]];
        const std::vector<float> next = valuesOf(static_cast<int>(rank), count);
        sum.resize(count);
        for (size_t i = 0; i < count; ++i)
          sum[i] = rank && sum[i] != 0 ? sum[i] + next[i] : next[i];
      }
      std::vector<float> expected = sums['a'];
      for (const auto &[host, sum] : sums)
        for (size_t i = 0; host != 'a' && i < count; ++i)
          expected[i] += sum[i];
      onRanks(meeting, [&](Communicator &ranks) {
        const std::vector<float> own = valuesOf(ranks.rank(), count);
        for (int round = 0; round < 2; ++round) {
          std::vector<float> all = own;
          ASSERT_TRUE(
              ranks.allReduce(all.data(), count, DType::F32, ReduceOp::Sum)
                  .ok());
          ASSERT_EQ(all, expected) << hosts << ", " << count;
        }
        auto sibling = ranks.sibling(10s);
        ASSERT_TRUE(sibling.ok());
        std::vector<float> mean(count, 2.0f * ranks.rank());
        ASSERT_TRUE(
            (*sibling)
                ->allReduce(mean.data(), count, DType::F32, ReduceOp::Mean)
                .ok());
        for (float value : mean)
          ASSERT_FLOAT_EQ(value, static_cast<float>(ranks.size() - 1));
      });
    }
}

TEST(Hosts, WantRanksThatAgree) {
  using Facts = std::vector<RankFacts>;
  const auto whyNot = [](const Facts &facts) {
    return ranksByHost(facts, 0).status().message();
  };
  EXPECT_EQ(whyNot({{"a", true}, {"a", true}, {"b", true}}),
            "--hierarchical-all-reduce: expected as many ranks on each host, "
            "found 2 on 'a' and 1 on 'b': leave it out");
  EXPECT_EQ(whyNot({{"a", false}, {"b", true}}),
            "rank 1 has --hierarchical-all-reduce and rank 0 has not: give it "
            "to all");
  for (const Facts &facts :
       {Facts{{"a", true}, {"a", true}}, Facts{{"a", true}, {"b", true}},
        Facts{{"a", false}, {"a", false}}}) {
    auto hosts = ranksByHost(facts, 0);
    EXPECT_TRUE(hosts.ok() && hosts->empty());
  }
  const RankFacts facts{"a", true};
  const RankFacts same = RankFacts::parse(facts.text());
  EXPECT_EQ(same.host, "a");
  EXPECT_TRUE(same.byHosts);
}

// 1 + 2^-8 is no bf16 and would be 1; with another 2^-8 the sum is one.
TEST_F(Gloo, HalvesAreRoundedOnce) {
  onRanks(here(3), [](Communicator &ranks) {
    const float part = ranks.rank() == 0 ? 1 : std::ldexp(1.0f, -8);
    for (size_t count : {5, 100'000}) {
      std::vector<uint16_t> bf16(count, toBf16(part));
      ASSERT_TRUE(
          ranks.allReduce(bf16.data(), count, DType::BF16, ReduceOp::Sum).ok());
      EXPECT_EQ(bf16, std::vector<uint16_t>(count, toBf16(1 + 2 * 0x1p-8f)));
      std::vector<uint16_t> f16(
          count, toF16(ranks.rank() == 0 ? 1 : std::ldexp(1.0f, -11)));
      const std::vector<size_t> pieces{count, 0, 0};
      ASSERT_TRUE(ranks
                      .reduceScatter(f16.data(), pieces, f16.data(), DType::F16,
                                     ReduceOp::Sum)
                      .ok());
      if (ranks.rank() == 0) {
        EXPECT_EQ(f16, std::vector<uint16_t>(count, toF16(1 + 0x1p-10f)));
      }
    }
  });
}

TEST_F(Gloo, MaxAndMean) {
  onRanks(here(3), [](Communicator &ranks) {
    const auto rank = static_cast<float>(ranks.rank());
    std::vector<float> values = {rank, -rank, rank == 1 ? NAN : 0.0f};
    ASSERT_TRUE(
        ranks.allReduce(values.data(), 3, DType::F32, ReduceOp::Max).ok());
    EXPECT_EQ(values[0], 2);
    EXPECT_EQ(values[1], 0);
    EXPECT_TRUE(std::isnan(values[2]));
    std::vector<int64_t> counts = {-5 - ranks.rank(), 1LL << 40};
    ASSERT_TRUE(
        ranks.allReduce(counts.data(), 2, DType::I64, ReduceOp::Max).ok());
    EXPECT_EQ(counts, (std::vector<int64_t>{-5, 1LL << 40}));
    std::vector<double> mean = {rank * 3.0, rank, rank * 2.0};
    const std::vector<size_t> pieces{1, 1, 1};
    double own = 0;
    ASSERT_TRUE(ranks
                    .reduceScatter(mean.data(), pieces, &own, DType::F64,
                                   ReduceOp::Mean)
                    .ok());
    constexpr double kMeans[] = {3, 1, 2};
    EXPECT_DOUBLE_EQ(own, kMeans[ranks.rank()]);
    EXPECT_EQ(
        ranks.allReduce(counts.data(), 2, DType::I64, ReduceOp::Mean).message(),
        "cannot all-reduce i64");
  });
}

TEST_F(Gloo, BroadcastGatherBarrier) {
  onRanks(here(3), [](Communicator &ranks) {
    int value = ranks.rank();
    ASSERT_TRUE(ranks.broadcast(&value, sizeof value, 2).ok());
    EXPECT_EQ(value, 2);
    ASSERT_TRUE(ranks.barrier().ok());
    auto texts = ranks.allGather(std::string(ranks.rank() * 5, 'a'));
    ASSERT_TRUE(texts.ok());
    EXPECT_EQ(*texts, (std::vector<std::string>{"", "aaaaa", "aaaaaaaaaa"}));
  });
}

TEST_F(Gloo, RanksMeetAtAnAddress) {
  Rendezvous meeting;
  meeting.size = 2;
  meeting.address = "127.0.0.1";
  meeting.port = freePort();
  meeting.timeout = 10s;
  onRanks(meeting, [](Communicator &ranks) {
    double one = 1;
    ASSERT_TRUE(ranks.allReduce(&one, 1, DType::F64, ReduceOp::Sum).ok());
    EXPECT_EQ(one, 2);
  });
}

TEST_F(Gloo, NoOneComes) {
  Rendezvous meeting = here(2);
  meeting.timeout = 300ms;
  auto begin = std::chrono::steady_clock::now();
  Status status = makeGlooCommunicator(meeting).status();
  EXPECT_EQ(status.code(), Code::PeerLost);
  EXPECT_EQ(status.message(), "rank 0 cannot meet the 1 others within 0.3 s: "
                              "rank 1 does not answer in the meeting of the "
                              "ranks: the other ranks did "
                              "not come");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

// A rank that fails itself is lost at once; one that leaves is not.
TEST_F(Gloo, AbandonedIsLost) {
  Rendezvous meeting = here(2);
  meeting.timeout = 30s;
  const auto begin = std::chrono::steady_clock::now();
  onRanks(meeting, [](Communicator &ranks) {
    if (ranks.rank() == 1) {
      std::this_thread::sleep_for(300ms); // the other has met it, too
      return ranks.abandon();
    }
    float value = 1;
    const Status status = ranks.allReduce(&value, 1, DType::F32, ReduceOp::Sum);
    EXPECT_EQ(status.code(), Code::PeerLost);
    EXPECT_NE(status.message().find("rank 1 is lost in all_reduce"),
              std::string::npos)
        << status.message();
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST_F(Gloo, LeavingEndsNothing) {
  for (int i = 0; i < 10; ++i)
    onRanks(here(3), [](Communicator &ranks) {
      // Each leaves when it is through; the others may be in it yet.
      EXPECT_TRUE(ranks.barrier().ok());
    });
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// runtime/collective: shards within groups of ranks.
#include "runtime/collective/Communicator.h"
#include "runtime/collective/Hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <thread>

using namespace dlc;

namespace {

void onRanks(int size, const std::function<void(Communicator &)> &f) {
  const auto meeting = meetHere(size);
  ASSERT_TRUE(meeting.ok()) << meeting.status().message();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      Rendezvous own = *meeting;
      own.rank = rank;
      const auto communicator = makeGlooCommunicator(own);
      ASSERT_TRUE(communicator.ok()) << communicator.status().message();
      f(**communicator);
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Values whose sum depends on the order of adding.
std::vector<float> termsOf(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::ldexp(1.0F + 0.37F * static_cast<float>(rank),
                           (static_cast<int>(i) * 7 + rank * 5) % 23 - 11);
  return values;
}

// Each group has all shards: they are added up in it, then over the groups.
TEST(Groups, ScatterAndGather) {
  for (const auto &[ranks, group] : {std::pair(4, 2), {6, 3}, {6, 2}})
    for (size_t count : {size_t(5), size_t(30'001), size_t(700'001)}) {
      std::vector<float> expected(count);
      for (int first = 0; first < ranks; first += group) {
        std::vector<float> sum = termsOf(first, count);
        for (int rank = first + 1; rank < first + group; ++rank) {
          const std::vector<float> next = termsOf(rank, count);
          std::transform(sum.begin(), sum.end(), next.begin(), sum.begin(),
                         std::plus());
        }
        std::transform(sum.begin(), sum.end(), expected.begin(),
                       expected.begin(), std::plus());
      }
      onRanks(ranks, [&, group = group](Communicator &all) {
        // The last one's is empty.
        std::vector<size_t> pieces(static_cast<size_t>(group), 0);
        pieces[0] = count - (pieces.size() - 2);
        for (size_t i = 1; i + 1 < pieces.size(); ++i)
          pieces[i] = 1;
        const auto place = static_cast<size_t>(all.rank() % group);
        const auto begin = static_cast<ptrdiff_t>(std::accumulate(
            pieces.begin(), pieces.begin() + ptrdiff_t(place), size_t(0)));
        const auto mine = static_cast<ptrdiff_t>(pieces[place]);
        for (bool inPlace : {false, true}) {
          std::vector<float> data = termsOf(all.rank(), count),
                             own(pieces[place]);
          float *to = inPlace ? data.data() + begin : own.data();
          ASSERT_TRUE(all.reduceScatter(data.data(), pieces, to, DType::F32,
                                        ReduceOp::Sum)
                          .ok());
          ASSERT_TRUE(std::equal(to, to + mine, expected.begin() + begin));
        }
        std::vector<float> mean(count, 2.0F * static_cast<float>(all.rank()));
        ASSERT_TRUE(all.reduceScatter(mean.data(), pieces, mean.data() + begin,
                                      DType::F32, ReduceOp::Mean)
                        .ok());
        for (ptrdiff_t i = begin; i < begin + mine; ++i)
          ASSERT_NEAR(mean[static_cast<size_t>(i)], float(all.size() - 1),
                      1e-5);
        // Each group gathers what it has.
        const auto number = static_cast<float>(all.rank() / group);
        std::vector<float> gathered(count, -1), whole(count, number);
        std::fill_n(gathered.begin() + begin, mine, number);
        for (size_t &piece : pieces)
          piece *= sizeof(float);
        ASSERT_TRUE(all.allGather(gathered.data(), pieces).ok());
        ASSERT_EQ(gathered, whole);
      });
    }
}

TEST(Hosts, OfEquallyManyConsecutiveRanks) {
  using Hosts = std::vector<std::string>;
  for (const auto &[hosts, each] : {std::pair(Hosts{"a"}, 1),
                                    {{"a", "a", "a"}, 3},
                                    {{"a", "b"}, 1},
                                    {{"b", "b", "a", "a"}, 2}})
    EXPECT_EQ(ranksOfEachHost(hosts).value(), each);
  for (const auto &[hosts, said] :
       {std::pair(Hosts{"a", "a", "b"}, "rank 2 (host 'b') is not of 2"),
        {{"a", "b", "a", "b"}, "rank 2 (host 'a') is not of 1 "},
        {{"a", "a", "b", "a"}, "rank 3 (host 'a')"},
        {{"a", "a", "b", "b", "a", "a"}, "rank 4 (host 'a')"}}) {
    const auto bad = ranksOfEachHost(hosts);
    EXPECT_EQ(bad.status().code(), Code::Usage);
    EXPECT_NE(bad.status().message().find(said), std::string::npos)
        << bad.status().message();
  }
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Samples of several lengths: which come when, filled up and put together.
#include "runtime/data/Loader.h"
#include "runtime/data/lengths/Joined.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace dlc {
namespace {

struct Taken {
  size_t set;
  std::vector<int64_t> rows;
  bool operator==(const Taken &) const = default;
};

std::vector<Taken> updates(const Sampling &sampling,
                           const std::vector<int64_t> &counts, int64_t first,
                           int64_t last) {
  SampleOrder order(sampling, counts);
  std::vector<Taken> all;
  for (int64_t number = first; number < last; ++number) {
    const SampleOrder::Update update = order.at(number);
    all.push_back({update.set, {update.rows.begin(), update.rows.end()}});
  }
  return all;
}

// Of one data set nothing has changed: the order of all is its own.
TEST(SampleOrder, OfOneSetIsThePermutation) {
  const Sampling sampling{.batch = 3, .seed = 7};
  const auto order = shuffledOrder(8, 7, 0), next = shuffledOrder(8, 7, 1);
  const auto found = updates(sampling, {8}, 0, 3);
  EXPECT_EQ(found[0].rows, std::vector(order.begin(), order.begin() + 3));
  EXPECT_EQ(found[1].rows, std::vector(order.begin() + 3, order.begin() + 6));
  EXPECT_EQ(found[2].rows, std::vector(next.begin(), next.begin() + 3));
}

// An update that is full first is first, by a plain walk through the order.
TEST(SampleOrder, WhatIsFullFirstIsFirst) {
  const std::vector<int64_t> counts = {23, 9, 14};
  const Sampling sampling{.batch = 2, .world = 2, .seed = 3};
  std::vector<Taken> expected;
  std::vector<std::vector<int64_t>> waiting(3);
  for (int64_t row : shuffledOrder(46, 3, 0)) {
    size_t set = 0;
    while (row >= counts[set])
      row -= counts[set++];
    waiting[set].push_back(row);
    if (waiting[set].size() == 4)
      expected.push_back({set, std::exchange(waiting[set], {})});
  }
  ASSERT_EQ(expected.size(), 5U + 2 + 3);
  EXPECT_EQ(sampling.updatesPerEpoch(counts), 10);
  EXPECT_EQ(updates(sampling, counts, 0, 10), expected);
}

TEST(SampleOrder, InOrderIsSetAfterSet) {
  const Sampling sampling{.batch = 2, .shuffle = false};
  const auto found = updates(sampling, {5, 3}, 0, 6);
  for (size_t epoch : {0, 3}) {
    EXPECT_EQ(found[epoch], (Taken{0, {0, 1}}));
    EXPECT_EQ(found[epoch + 1], (Taken{0, {2, 3}}));
    EXPECT_EQ(found[epoch + 2], (Taken{1, {0, 1}}));
  }
}

// From any update, by what its cursor says.
TEST(SampleOrder, GoesOnFromAnyCursor) {
  const std::vector<int64_t> counts = {11, 3, 17};
  const Sampling whole{.batch = 2, .seed = 5};
  const auto expected = updates(whole, counts, 0, 40);
  SampleOrder order(whole, counts);
  for (int64_t since = 1; since < 39; ++since) {
    Sampling rest = whole;
    rest.since = since;
    rest.from = order.at(since - 1).end;
    EXPECT_EQ(rest.from.taken.size(), 3U);
    EXPECT_EQ(updates(rest, counts, since, 40),
              std::vector(expected.begin() + since, expected.end()))
        << since;
  }
  EXPECT_EQ(updates(whole, counts, 20, 21)[0], expected[20]);
  SampleOrder back(whole, counts);
  back.at(9);
  const SampleOrder::Update update = back.at(2);
  EXPECT_EQ((Taken{update.set, {update.rows.begin(), update.rows.end()}}),
            expected[2]);
}

// Two ranks go on where three were: no sample twice in the epoch.
TEST(SampleOrder, OtherRanksGoOnWithWhatIsLeft) {
  const std::vector<int64_t> counts = {31, 20};
  const Sampling three{.batch = 2, .world = 3, .seed = 1};
  Sampling two{.batch = 2, .world = 2, .seed = 1, .since = 3};
  two.from = SampleOrder(three, counts).at(2).end;
  std::set<std::pair<size_t, int64_t>> seen;
  size_t all = 0;
  const auto take = [&](const std::vector<Taken> &found) {
    for (const Taken &taken : found)
      for (const int64_t row : taken.rows)
        seen.insert({taken.set, row}), ++all;
  };
  take(updates(three, counts, 0, 3));
  int64_t last = 3;
  while (two.cursorAfter(last, counts).epoch == 0)
    ++last;
  take(updates(two, counts, 3, last));
  EXPECT_EQ(seen.size(), all);
  EXPECT_GT(all, 51U - 2 * 4); // less than an update is left of each
}

template <class T>
Array arrayOf(DType type, std::vector<int64_t> shape, std::vector<T> values) {
  auto bytes = std::make_shared<std::vector<T>>(std::move(values));
  Array array{type, std::move(shape), {}};
  array.content.owner = bytes;
  array.content.bytes = std::as_bytes(std::span(*bytes));
  return array;
}

TEST(Padded, FillsUpTheEndsOfAxes) {
  const auto source = sourceOf(
      "s", {{"x", arrayOf<int64_t>(DType::I64, {2, 2, 3},
                                   {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
            {"m", arrayOf<uint8_t>(DType::U8, {2, 1}, {1, 1})}});
  const auto padded = paddedSource(source, {{"x", {3, 4}, -1}, {"m", {2}, 0}});
  ASSERT_TRUE(padded.ok()) << padded.status().message();
  EXPECT_EQ((*padded)->head("x")->shape, (std::vector<int64_t>{2, 3, 4}));
  std::vector<int64_t> found(12);
  const auto rows = (*padded)->rows("x");
  ASSERT_TRUE(
      (*rows)
          ->read(1, nullptr, reinterpret_cast<std::byte *>(found.data()))
          .ok());
  EXPECT_EQ(found, (std::vector<int64_t>{7, 8, 9, -1, 10, 11, 12, -1, -1, -1,
                                         -1, -1}));
  const auto wrong = paddedSource(source, {{"m", {2}, -100}});
  EXPECT_EQ(wrong.status().message(), "--pad: 's': 'm': -100 is no u8");
  EXPECT_FALSE(paddedSource(source, {{"x", {3, 4}, 0.5}}).ok());
}

TEST(Joined, OneBehindTheOther) {
  const auto a =
      sourceOf("a", {{"x", arrayOf<int64_t>(DType::I64, {2, 1}, {1, 2})},
                     {"m", arrayOf<float>(DType::F32, {2}, {0, 1})}});
  const auto b =
      sourceOf("b", {{"x", arrayOf<int64_t>(DType::I64, {3, 1}, {3, 4, 5})},
                     {"m", arrayOf<float>(DType::F32, {2}, {0, 1})}});
  const auto c =
      sourceOf("c", {{"x", arrayOf<int32_t>(DType::I32, {1, 1}, {3})},
                     {"m", arrayOf<float>(DType::F32, {2}, {0, 2})}});
  const auto joined = joinedSource({a, b}, {"x", "m"}, {"m"});
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ((*joined)->name(), "a,b");
  EXPECT_EQ((*joined)->head("x")->shape, (std::vector<int64_t>{5, 1}));
  EXPECT_EQ((*joined)->head("m")->shape, (std::vector<int64_t>{2}));
  const auto rows = (*joined)->rows("x");
  for (int64_t row = 0; row < 5; ++row) {
    int64_t found = 0;
    const TrainingPass pass;
    ASSERT_TRUE(
        (*rows)->read(row, &pass, reinterpret_cast<std::byte *>(&found)).ok());
    EXPECT_EQ(found, row + 1);
  }
  EXPECT_EQ(joinedSource({a, c}, {"x"}, {}).status().message(),
            "'x' is i64 [2, 1] in 'a', but i32 [1, 1] in 'c': files of one run "
            "have the same arrays");
  EXPECT_EQ(joinedSource({a, c}, {"m"}, {"m"}).status().message(),
            "'m' is the same for all samples, but differs between 'a' and 'c'");
  const std::vector sources = {a, b};
  EXPECT_EQ(*hashOf(sources, 1), *a->hash(1) + "+" + *b->hash(1));
}

} // namespace
} // namespace dlc

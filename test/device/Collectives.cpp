// SPDX-License-Identifier: Apache-2.0
// Hand-made plans of several ranks.
#include "AllocationCounter.h"
#include "PlanBuilder.h"
#include "runtime/exec/Executor.h"
#include "test/support/Outputs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace dlc::test {
namespace {

const float kInput[] = {1, 2, 3, 4};

std::unique_ptr<Executor> makeOnRanks(const plan::Plan &plan,
                                      Communicator *communicator = nullptr) {
  auto executor =
      Executor::create(plan, DLC_TEST_KERNELS, communicator, {.threads = 2});
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  return executor.ok() ? *std::move(executor) : nullptr;
}

// Two ranks, of which the other always has `other`; can be told to hold back or
// to fail.
class FakeCommunicator final : public Communicator {
public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  Status allReduce(void *data, size_t count, DType type, ReduceOp op) override {
    EXPECT_EQ(type, DType::F32);
    EXPECT_NE(std::this_thread::get_id(), executorThread);
    while (hold)
      std::this_thread::yield();
    if (calls++ == failAt)
      return peerLost("rank 1 is gone");
    for (size_t i = 0; i < count; ++i) {
      float &value = static_cast<float *>(data)[i];
      value = op == ReduceOp::Mean ? (value + other) / 2 : value + other;
    }
    (main ? main->order : order).push_back(count);
    if (main)
      main->hold = false;
    return {};
  }
  Status reduceScatter(void *, std::span<const size_t>, void *, DType,
                       ReduceOp) override {
    return failed("none");
  }
  Status allGather(void *data, std::span<const size_t> pieces) override {
    std::fill_n(
        reinterpret_cast<float *>(static_cast<char *>(data) + pieces[0]),
        pieces[1] / sizeof(float), other);
    return {};
  }
  Status broadcast(void *, size_t, int) override { return {}; }
  Status barrier() override { return {}; }
  Result<std::unique_ptr<Communicator>>
  sibling(std::chrono::milliseconds) override {
    auto made = std::make_unique<FakeCommunicator>();
    made->failAt = failAheadAt;
    made->main = this;
    ++siblings;
    return std::unique_ptr<Communicator>(std::move(made));
  }
  Result<std::vector<std::string>> allGather(const std::string &text) override {
    return std::vector<std::string>(2, text);
  }

  std::thread::id executorThread = std::this_thread::get_id();
  float other = 10;
  std::atomic<bool> hold = false;
  int calls = 0, failAt = -1, failAheadAt = -1, siblings = 0;
  FakeCommunicator *main = nullptr; // of a sibling, which lets it go on
  std::vector<size_t> order;
};

// Copies x into two buckets, [4] and [2], reduces both (mean and sum), copies x
// to `during` while they are under way, and the buckets to the outputs after.
// The second one may be waited for first, and be ahead.
plan::Plan reducePlan(uint32_t ranks, bool ahead = false) {
  PlanBuilder b;
  b.plan.set_world_size(ranks);
  plan::Program &p = b.addProgram("train_step");
  const uint32_t x = b.addBuffer(p, 2, 0, {4});
  const uint32_t half = b.addBuffer(p, 2, 8, {2});
  const uint32_t g0 = b.addBuffer(p, 1, 0, {4});
  const uint32_t g1 = b.addBuffer(p, 1, 64, {2});
  const uint32_t during = b.addBuffer(p, 2, 64, {4});
  const uint32_t y0 = b.addBuffer(p, 2, 128, {4});
  const uint32_t y1 = b.addBuffer(p, 2, 192, {2});
  b.port(*p.mutable_inputs(), "x", x);
  b.port(*p.mutable_outputs(), "during", during);
  b.port(*p.mutable_outputs(), "y0", y0);
  b.port(*p.mutable_outputs(), "y1", y1);
  const auto reduce = [&](uint32_t range, int64_t bucket, const char *op) {
    plan::Command &command = b.addCommand(p, "all_reduce", {range}, {range});
    b.set(command, "bucket", bucket);
    b.set(command, "op", std::string(op));
  };
  b.addCommand(p, "copy", {x}, {g0});
  reduce(g0, 0, "mean");
  b.addCommand(p, "copy", {half}, {g1});
  reduce(g1, 1, "sum");
  if (ahead)
    b.set(*p.mutable_commands(p.commands_size() - 1), "ahead", int64_t(1));
  b.addCommand(p, "copy", {x}, {during});
  for (int64_t bucket :
       ahead ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 1})
    b.set(b.addCommand(p, "wait", {bucket ? g1 : g0}, {}), "bucket", bucket);
  b.addCommand(p, "copy", {g0}, {y0});
  b.addCommand(p, "copy", {g1}, {y1});
  return b.plan;
}

std::vector<float> valuesOf(Executor &executor, const char *name) {
  auto view = outputOf(executor, "train_step", name);
  EXPECT_TRUE(view.ok()) << view.status().message();
  const float *data = reinterpret_cast<const float *>(view->data);
  return {data, data + view->bytes / 4};
}

TEST(Collectives, ReduceBucketsInOrder) {
  FakeCommunicator communicator;
  auto executor = makeOnRanks(reducePlan(2), &communicator);
  for (int step = 0; step < 50; ++step) {
    ASSERT_TRUE(executor->setInput("train_step", "x", kInput, 16).ok());
    ASSERT_TRUE(executor->run("train_step").ok());
    EXPECT_EQ(valuesOf(*executor, "y0"), (std::vector<float>{5.5, 6, 6.5, 7}));
    EXPECT_EQ(valuesOf(*executor, "y1"), (std::vector<float>{13, 14}));
  }
  ASSERT_EQ(communicator.order.size(), 100u);
  for (size_t i = 0; i < 100; ++i)
    EXPECT_EQ(communicator.order[i], i % 2 ? 2u : 4u);
}

TEST(Collectives, ComputationGoesOnMeanwhile) {
  FakeCommunicator communicator;
  communicator.hold = true;
  auto executor = makeOnRanks(reducePlan(2), &communicator);
  ASSERT_TRUE(executor->setInput("train_step", "x", kInput, 16).ok());
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    communicator.hold = false;
  });
  executor->setProfiling(true);
  EXPECT_TRUE(executor->run("train_step").ok());
  release.join();
  double waited = 0, rest = 0;
  for (const CommandProfile &command : executor->profile())
    (command.kind == "wait" ? waited : rest) += command.seconds;
  EXPECT_GT(waited, 0.03); // the time is spent in wait, not in all_reduce
  EXPECT_LT(rest, 0.03);
}

// The first bucket is held up until the second has arrived.
TEST(Collectives, OneOvertakes) {
  FakeCommunicator communicator;
  auto executor = makeOnRanks(reducePlan(2, true), &communicator);
  EXPECT_EQ(communicator.siblings, 1);
  for (int step = 0; step < 20; ++step) {
    communicator.hold = true;
    std::thread release([&] { // if it does not
      for (int i = 0; i < 2000 && communicator.hold; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      communicator.hold = false;
    });
    ASSERT_TRUE(executor->setInput("train_step", "x", kInput, 16).ok());
    EXPECT_TRUE(executor->run("train_step").ok());
    release.join();
    EXPECT_EQ(valuesOf(*executor, "y0"), (std::vector<float>{5.5, 6, 6.5, 7}));
    EXPECT_EQ(valuesOf(*executor, "y1"), (std::vector<float>{13, 14}));
    EXPECT_EQ(communicator.order, (std::vector<size_t>{2, 4})) << step;
    communicator.order.clear();
  }
}

TEST(Collectives, EitherChannelEndsTheRun) {
  for (bool isAhead : {false, true}) {
    FakeCommunicator communicator;
    (isAhead ? communicator.failAheadAt : communicator.failAt) = 0;
    auto executor = makeOnRanks(reducePlan(2, true), &communicator);
    for (int step = 0; step < 2; ++step) {
      ASSERT_TRUE(executor->setInput("train_step", "x", kInput, 16).ok());
      const Status status = executor->run("train_step");
      EXPECT_EQ(status.code(), Code::PeerLost);
      EXPECT_EQ(status.message(), "rank 1 is gone");
    }
  }
}

TEST(Collectives, OneRankHasNothingToDo) {
  auto executor = makeOnRanks(reducePlan(1));
  ASSERT_TRUE(executor->setInput("train_step", "x", kInput, 16).ok());
  ASSERT_TRUE(executor->run("train_step").ok());
  EXPECT_EQ(valuesOf(*executor, "y0"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf(*executor, "y1"), (std::vector<float>{3, 4}));
}

// Gathers w, in parts of 4 elements, to scratch, and copies it from there.
plan::Plan gatherPlan(uint32_t ranks) {
  PlanBuilder b;
  b.plan.set_world_size(ranks);
  b.addState("w", 0, {7});
  plan::Program &p = b.addProgram("train_step");
  const uint32_t w = b.addBuffer(p, 0, 0, {7});
  const uint32_t whole = b.addBuffer(p, 2, 0, {7});
  const uint32_t y = b.addBuffer(p, 2, 64, {7});
  b.port(*p.mutable_outputs(), "y", y);
  plan::Command &gather = b.addCommand(p, "all_gather", {w}, {whole});
  b.set(gather, "bucket", int64_t(0));
  b.set(gather, "extent", int64_t(2));
  b.set(gather, "shard", int64_t(4));
  b.part(b.plan, 0, 0, 28, 16, 2);
  b.set(b.addCommand(p, "wait", {whole}, {whole}), "bucket", int64_t(0));
  b.addCommand(p, "copy", {whole}, {y});
  return b.plan;
}

TEST(Collectives, WhatRanksHavePartsOfIsGatheredElsewhere) {
  const float w[] = {1, 2, 3, 4, 5, 6, 7};
  FakeCommunicator communicator;
  auto two = makeOnRanks(gatherPlan(2), &communicator),
       one = makeOnRanks(gatherPlan(1));
  for (Executor *executor : {two.get(), one.get()}) {
    ASSERT_TRUE(executor->writeState("w", w, sizeof w).ok());
    ASSERT_TRUE(executor->run("train_step").ok());
  }
  EXPECT_EQ(valuesOf(*two, "y"), (std::vector<float>{1, 2, 3, 4, 10, 10, 10}));
  EXPECT_EQ(valuesOf(*one, "y"), (std::vector<float>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(two->hasParts());
  EXPECT_FALSE(one->hasParts());
  plan::Plan wrong = gatherPlan(2);
  wrong.mutable_programs(0)->mutable_buffers(1)->mutable_type()->set_shape(0,
                                                                           6);
  auto executor = makeOnRanks(wrong, &communicator);
  EXPECT_EQ(executor->prepare("train_step").code(), Code::Corrupt);
}

TEST(Collectives, ALostPeerEndsTheRunAndAllLaterOnes) {
  for (int failAt : {0, 1, 2}) {
    FakeCommunicator communicator;
    communicator.failAt = failAt;
    auto executor = makeOnRanks(reducePlan(2), &communicator);
    Status status;
    for (int step = 0; step < 2 && status.ok(); ++step) {
      ASSERT_TRUE(executor->setInput("train_step", "x", kInput, 16).ok());
      status = executor->run("train_step");
    }
    EXPECT_EQ(status.code(), Code::PeerLost);
    EXPECT_EQ(status.message(), "rank 1 is gone");
    EXPECT_EQ(communicator.calls, failAt + 1); // nothing is sent afterwards
    ASSERT_TRUE(executor->setInput("train_step", "x", kInput, 16).ok());
    EXPECT_EQ(executor->run("train_step").code(), Code::PeerLost);
  }
}

TEST(Collectives, AStepAllocatesNothing) {
  if (!AllocationCounter::available())
    GTEST_SKIP() << "the allocator is the sanitizer's";
  FakeCommunicator communicator;
  communicator.order.reserve(100);
  auto executor = makeOnRanks(reducePlan(2), &communicator);
  const auto step = [&] {
    return executor->setInput("train_step", "x", kInput, 16).ok() &&
           executor->run("train_step").ok();
  };
  ASSERT_TRUE(step());
  AllocationCounter counter;
  ASSERT_TRUE(step());
  EXPECT_EQ(counter.ours(), 0);
}

TEST(Collectives, APlanForSeveralRanksRunsOnAnyNumber) {
  FakeCommunicator two;
  EXPECT_TRUE(Executor::create(reducePlan(4), "", &two).ok());
  const auto one = makeSingleCommunicator();
  auto alone = makeOnRanks(reducePlan(4), one.get());
  ASSERT_TRUE(alone->setInput("train_step", "x", kInput, 16).ok());
  ASSERT_TRUE(alone->run("train_step").ok());
  EXPECT_EQ(valuesOf(*alone, "y0"), valuesOf(*alone, "during"));
}

TEST(Collectives, APlanForOneRankRunsOnOne) {
  FakeCommunicator two;
  const Status status = Executor::create(reducePlan(1), "", &two).status();
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_EQ(status.message(), "compiled for 1 ranks, but 2 run it; start 1 or "
                              "compile with --ddp=2");
}

} // namespace
} // namespace dlc::test

// SPDX-License-Identifier: Apache-2.0
// Hand-made plans, one and several ranks.
#include "runtime/exec/Executor.h"
#include "AllocationCounter.h"
#include "PlanBuilder.h"
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Types.h"
#include "test/support/Outputs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

namespace dlc::test {
namespace {

// predict: y = x @ w, x [2,3], w [3,2].
plan::Plan productPlan() {
  PlanBuilder b;
  b.addState("w", 0, {3, 2});
  plan::Program &p = b.addProgram("predict");
  const uint32_t w = b.addBuffer(p, 0, 0, {3, 2});
  const uint32_t x = b.addBuffer(p, 2, 0, {2, 3});
  const uint32_t y = b.addBuffer(p, 2, 64, {2, 2});
  b.port(*p.mutable_inputs(), "x", x);
  b.port(*p.mutable_outputs(), "y", y);
  b.addCommand(p, "matmul", {x, w}, {y}).set_flops(24);
  return b.plan;
}

const float kX[] = {1, 2, 3, 4, 5, 6};
const float kW[] = {1, 0, 0, 1, 10, 100};

std::unique_ptr<Executor> make(const plan::Plan &plan,
                               Communicator *communicator = nullptr) {
  auto executor =
      Executor::create(plan, DLC_TEST_KERNELS, communicator, {.threads = 2});
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  return executor.ok() ? *std::move(executor) : nullptr;
}

TEST(Executor, RunsAProgram) {
  auto executor = make(productPlan());
  ASSERT_TRUE(executor->writeState("w", kW, sizeof kW).ok());
  ASSERT_TRUE(executor->setInput("predict", "x", kX, sizeof kX).ok());
  ASSERT_TRUE(executor->run("predict").ok());
  auto y = outputOf(*executor, "predict", "y");
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(y->bytes, 16u);
  const float expected[] = {31, 302, 64, 605};
  EXPECT_EQ(0, std::memcmp(y->data, expected, sizeof expected));
  EXPECT_EQ(executor->memory().regions, 3u * 4096);
}

TEST(Executor, StateIsReadAndWritten) {
  auto executor = make(productPlan());
  float w[6];
  ASSERT_TRUE(executor->readState("w", w, sizeof w).ok());
  EXPECT_EQ(w[5], 0);
  auto view = executor->state("w");
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->bytes, sizeof w);
  std::memcpy(view->data, kW, sizeof kW);
  ASSERT_TRUE(executor->readState("w", w, sizeof w).ok());
  EXPECT_EQ(w[5], 100);
  EXPECT_EQ(executor->state("v").status().code(), Code::Failed);
  EXPECT_EQ(executor->writeState("w", kW, 4).message(),
            "state 'w' has 4 bytes, expected 24");
}

TEST(Executor, InputsAreNeededBeforeEveryRun) {
  auto executor = make(productPlan());
  EXPECT_EQ(executor->run("predict").message(),
            "predict: input 'x' was not set before this run");
  ASSERT_TRUE(executor->setInput("predict", "x", kX, sizeof kX).ok());
  ASSERT_TRUE(executor->run("predict").ok());
  EXPECT_EQ(executor->run("predict").code(), Code::Usage);
}

TEST(Executor, OutputsAreThereAfterARunOnly) {
  auto executor = make(productPlan());
  EXPECT_FALSE(outputOf(*executor, "predict", "y").ok());
  ASSERT_TRUE(executor->setInput("predict", "x", kX, sizeof kX).ok());
  ASSERT_TRUE(executor->run("predict").ok());
  EXPECT_TRUE(outputOf(*executor, "predict", "y").ok());
  ASSERT_TRUE(executor->setInput("predict", "x", kX, sizeof kX).ok());
  EXPECT_FALSE(outputOf(*executor, "predict", "y").ok());
}

// A host that is not ahead reads them where the program wrote them.
TEST(Executor, ReportsAreOfTheLastRun) {
  auto executor = make(productPlan());
  EXPECT_EQ(executor->runsAhead(), 0);
  ASSERT_TRUE(executor->writeState("w", kW, sizeof kW).ok());
  const std::string none = "there is no report to read";
  EXPECT_EQ(executor->readReport("predict").status().message(), none);
  EXPECT_EQ(executor->report("predict").message(),
            "predict has no report: it did not run last");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(executor->setInput("predict", "x", kX, sizeof kX).ok());
    ASSERT_TRUE(executor->run("predict").ok());
    EXPECT_EQ(executor->readReport("predict").status().message(), none);
    ASSERT_TRUE(executor->report("predict").ok());
    if (i == 1) // not read: it goes with the next input
      continue;
    const auto outputs = executor->readReport("predict");
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    ASSERT_EQ(outputs->size(), 1u);
    EXPECT_EQ(reinterpret_cast<float *>((*outputs)[0].data)[3], 605);
  }
}

TEST(Executor, WritesOfTheHostAreCounted) {
  auto executor = make(productPlan());
  const uint64_t before = executor->stateWrites();
  ASSERT_TRUE(executor->setInput("predict", "x", kX, sizeof kX).ok());
  ASSERT_TRUE(executor->run("predict").ok());
  EXPECT_EQ(executor->stateWrites(), before);
  ASSERT_TRUE(executor->writeState("w", kW, sizeof kW).ok());
  EXPECT_GT(executor->stateWrites(), before);
}

TEST(Executor, WrongNamesAndSizesAreNamed) {
  auto executor = make(productPlan());
  EXPECT_EQ(executor->setInput("predict", "x", kX, 4).message(),
            "input 'x' has 4 bytes, expected 24");
  EXPECT_EQ(executor->setInput("predict", "z", kX, 4).message(),
            "predict has no input 'z'");
  EXPECT_EQ(executor->run("train_step").message(),
            "no program 'train_step' in the plan");
}

// predict: y = table[ids]; ids in [0, limit).
plan::Plan lookupPlan(int64_t limit) {
  PlanBuilder b;
  plan::Program &p = b.addProgram("predict");
  const uint32_t table = b.addBuffer(p, 0, 0, {4, 2});
  const uint32_t ids = b.addBuffer(p, 2, 0, {3}, plan::I64);
  const uint32_t y = b.addBuffer(p, 2, 64, {3, 2});
  b.port(*p.mutable_inputs(), "ids", ids, limit);
  b.port(*p.mutable_outputs(), "y", y);
  b.addCommand(p, "gather", {table, ids}, {y});
  return b.plan;
}

TEST(Executor, IntegersAreCheckedAgainstTheirLimit) {
  auto executor = make(lookupPlan(4));
  const int64_t ids[] = {0, 3, 4};
  const Status status = executor->setInput("predict", "ids", ids, sizeof ids);
  EXPECT_EQ(status.code(), Code::Usage);
  EXPECT_EQ(status.message(),
            "input 'ids': 4 at position 2 is out of range, expected 0 to 3");
}

TEST(Executor, IntegersMayCountFromTheEnd) {
  plan::Plan plan = lookupPlan(4);
  plan.mutable_programs(0)->mutable_inputs(0)->set_from_end(true);
  auto executor = make(plan);
  const int64_t good[] = {0, -4, -1}, low[] = {0, -5, 3}, high[] = {0, 4, 3};
  EXPECT_TRUE(executor->setInput("predict", "ids", good, sizeof good).ok());
  EXPECT_EQ(executor->setInput("predict", "ids", low, sizeof low).message(),
            "input 'ids': -5 at position 1 is out of range, expected -4 to 3");
  EXPECT_EQ(executor->setInput("predict", "ids", high, sizeof high).message(),
            "input 'ids': 4 at position 1 is out of range, expected 0 to 3");
}

TEST(Executor, AnErrorInACommandIsTheRunsAndTheNextRunWorks) {
  auto executor = make(lookupPlan(0));
  const int64_t bad[] = {0, 3, 4}, good[] = {0, 3, -1};
  ASSERT_TRUE(executor->setInput("predict", "ids", bad, sizeof bad).ok());
  EXPECT_EQ(executor->run("predict").message(),
            "gather 'gather_label': index 4 at position 2 is out of range, "
            "expected -4 to 3");
  EXPECT_FALSE(outputOf(*executor, "predict", "y").ok());
  ASSERT_TRUE(executor->setInput("predict", "ids", good, sizeof good).ok());
  EXPECT_TRUE(executor->run("predict").ok());
}

TEST(Executor, PlansThatItCannotRunAreRefused) {
  plan::Plan plan = productPlan();
  plan.set_target("abacus");
  EXPECT_EQ(Executor::create(plan, "").status().code(), Code::Incompatible);
  plan = productPlan();
  plan.mutable_programs(0)->mutable_buffers(1)->set_offset(4090);
  EXPECT_EQ(Executor::create(plan, "").status().code(), Code::Corrupt);
  plan = productPlan();
  plan.set_world_size(2);
  EXPECT_EQ(Executor::create(plan, "").status().code(), Code::Incompatible);
  plan = productPlan();
  plan.mutable_regions(1)->set_bytes(uint64_t(1) << 46);
  plan.mutable_regions(2)->set_bytes(uint64_t(1) << 46);
  plan.mutable_regions(0)->set_bytes(uint64_t(1) << 46);
  EXPECT_EQ(Executor::create(plan, "").status().code(), Code::Limit);
  plan = productPlan();
  plan.mutable_programs(0)->mutable_commands(0)->set_kind("matmull");
  auto executor = make(plan);
  EXPECT_EQ(executor->prepare("predict").code(), Code::Incompatible);
}

TEST(Executor, ProfilesCommands) {
  auto executor = make(productPlan());
  executor->setProfiling(true);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(executor->setInput("predict", "x", kX, sizeof kX).ok());
    ASSERT_TRUE(executor->run("predict").ok());
  }
  const auto profile = executor->profile();
  ASSERT_EQ(profile.size(), 1u);
  EXPECT_EQ(profile[0].label, "matmul_label");
  EXPECT_EQ(profile[0].calls, 3u);
  EXPECT_GT(profile[0].seconds, 0);
  EXPECT_EQ(profile[0].flops, 24u);
}

TEST(Executor, AStepAllocatesNothing) {
  if (!AllocationCounter::available())
    GTEST_SKIP() << "the allocator is the sanitizer's";
  auto executor = make(productPlan());
  const auto step = [&] {
    return executor->setInput("predict", "x", kX, sizeof kX).ok() &&
           executor->run("predict").ok() &&
           outputOf(*executor, "predict", "y").ok();
  };
  ASSERT_TRUE(step());
  AllocationCounter counter;
  ASSERT_TRUE(step());
  EXPECT_EQ(counter.ours(), 0);
}

// With DLC_POISON=1, scratch that was never written is NaN; inputs are kept.
TEST(Executor, PoisonShowsReadsOfUnwrittenMemory) {
  PlanBuilder b;
  plan::Program &p = b.addProgram("predict");
  const uint32_t x = b.addBuffer(p, 2, 64, {4});
  const uint32_t never = b.addBuffer(p, 2, 128, {4});
  b.port(*p.mutable_inputs(), "x", x);
  b.port(*p.mutable_outputs(), "x", x);
  b.port(*p.mutable_outputs(), "never", never);
  setenv("DLC_POISON", "1", 1);
  auto executor = make(b.plan);
  unsetenv("DLC_POISON");
  ASSERT_TRUE(executor->setInput("predict", "x", kX, 16).ok());
  ASSERT_TRUE(executor->run("predict").ok());
  const auto first = [&](const char *name) {
    return *reinterpret_cast<float *>(
        outputOf(*executor, "predict", name)->data);
  };
  EXPECT_EQ(first("x"), 1);
  EXPECT_TRUE(std::isnan(first("never")));
}

TEST(Executor, ScalarsAreRead) {
  PlanBuilder b;
  plan::Program &p = b.addProgram("predict");
  const uint32_t x = b.addBuffer(p, 2, 0, {});
  const uint32_t v = b.addBuffer(p, 2, 64, {2});
  b.port(*p.mutable_inputs(), "x", x);
  b.port(*p.mutable_outputs(), "loss", x);
  b.port(*p.mutable_outputs(), "vector", v);
  auto executor = make(b.plan);
  const float value = 0.25f;
  ASSERT_TRUE(executor->setInput("predict", "x", &value, 4).ok());
  ASSERT_TRUE(executor->run("predict").ok());
  EXPECT_EQ(*scalarOf(*outputOf(*executor, "predict", "loss")), 0.25);
  EXPECT_EQ(
      scalarOf(*outputOf(*executor, "predict", "vector")).status().message(),
      "it is not a float scalar");
}

// --- collectives ---

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
    order.push_back(count);
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
    return failed("none");
  }
  Result<std::vector<std::string>> allGather(const std::string &text) override {
    return std::vector<std::string>(2, text);
  }

  std::thread::id executorThread = std::this_thread::get_id();
  float other = 10;
  std::atomic<bool> hold = false;
  int calls = 0, failAt = -1;
  std::vector<size_t> order;
};

// Copies x into two buckets, [4] and [2], reduces both (mean and sum), copies x
// to `during` while they are under way, and the buckets to the outputs after.
plan::Plan reducePlan(uint32_t ranks) {
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
  b.addCommand(p, "copy", {x}, {during});
  for (int64_t bucket : {0, 1})
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
  auto executor = make(reducePlan(2), &communicator);
  for (int step = 0; step < 50; ++step) {
    ASSERT_TRUE(executor->setInput("train_step", "x", kX, 16).ok());
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
  auto executor = make(reducePlan(2), &communicator);
  ASSERT_TRUE(executor->setInput("train_step", "x", kX, 16).ok());
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

TEST(Collectives, OneRankHasNothingToDo) {
  auto executor = make(reducePlan(1));
  ASSERT_TRUE(executor->setInput("train_step", "x", kX, 16).ok());
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
  auto two = make(gatherPlan(2), &communicator), one = make(gatherPlan(1));
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
  auto executor = make(wrong, &communicator);
  EXPECT_EQ(executor->prepare("train_step").code(), Code::Corrupt);
}

TEST(Collectives, ALostPeerEndsTheRunAndAllLaterOnes) {
  for (int failAt : {0, 1, 2}) {
    FakeCommunicator communicator;
    communicator.failAt = failAt;
    auto executor = make(reducePlan(2), &communicator);
    Status status;
    for (int step = 0; step < 2 && status.ok(); ++step) {
      ASSERT_TRUE(executor->setInput("train_step", "x", kX, 16).ok());
      status = executor->run("train_step");
    }
    EXPECT_EQ(status.code(), Code::PeerLost);
    EXPECT_EQ(status.message(), "rank 1 is gone");
    EXPECT_EQ(communicator.calls, failAt + 1); // nothing is sent afterwards
    ASSERT_TRUE(executor->setInput("train_step", "x", kX, 16).ok());
    EXPECT_EQ(executor->run("train_step").code(), Code::PeerLost);
  }
}

TEST(Collectives, AStepAllocatesNothing) {
  if (!AllocationCounter::available())
    GTEST_SKIP() << "the allocator is the sanitizer's";
  FakeCommunicator communicator;
  communicator.order.reserve(100);
  auto executor = make(reducePlan(2), &communicator);
  const auto step = [&] {
    return executor->setInput("train_step", "x", kX, 16).ok() &&
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
  auto alone = make(reducePlan(4), one.get());
  ASSERT_TRUE(alone->setInput("train_step", "x", kX, 16).ok());
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

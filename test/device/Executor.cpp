// SPDX-License-Identifier: Apache-2.0
// Hand-made plans of one rank.
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

TEST(Executor, AHostOffloadsNothing) {
  plan::Plan plan = productPlan();
  plan::Region &host = *plan.add_regions();
  host.set_name("host");
  host.set_kind(plan::Region::HOST);
  host.set_bytes(64);
  const Status refused = Executor::create(plan, "").status();
  EXPECT_EQ(refused.code(), Code::Incompatible);
  EXPECT_EQ(refused.message(),
            "cpu cannot offload 64 bytes: its memory is the host's");
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

} // namespace
} // namespace dlc::test

// SPDX-License-Identifier: Apache-2.0
// Programs that the host runs after another one.
#include "runtime/exec/Follower.h"
#include "AllocationCounter.h"
#include "PlanBuilder.h"
#include "runtime/exec/Executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace dlc::test {
namespace {

constexpr int64_t kSize = 1000;

// train: w = x, then idle commands; average, after it: e = w, through scratch.
plan::Plan followedPlan() {
  PlanBuilder b;
  b.addState("w", 0, {kSize});
  b.addState("e", 8192, {kSize});
  b.plan.mutable_regions(0)->set_bytes(1 << 14);
  b.plan.mutable_regions(2)->set_bytes(1 << 14);
  plan::Program &train = b.addProgram("train");
  train.set_scratch_bytes(1 << 14);
  const uint32_t x = b.addBuffer(train, 2, 0, {kSize});
  const uint32_t y = b.addBuffer(train, 2, 8192, {kSize});
  const uint32_t w = b.addBuffer(train, 0, 0, {kSize});
  b.port(*train.mutable_inputs(), "x", x);
  b.addCommand(train, "copy", {x}, {y});
  b.addCommand(train, "copy", {y}, {w});
  plan::Program &average = b.addProgram("average");
  average.set_after("train");
  average.set_scratch_bytes(1 << 12);
  const uint32_t from = b.addBuffer(average, 0, 0, {kSize});
  const uint32_t scratch = b.addBuffer(average, 2, 0, {kSize});
  const uint32_t e = b.addBuffer(average, 0, 8192, {kSize});
  b.addCommand(average, "copy", {from}, {scratch});
  b.addCommand(average, "copy", {scratch}, {e});
  return b.plan;
}

std::unique_ptr<Executor> executorOf(const plan::Plan &plan) {
  auto executor = Executor::create(plan, "", nullptr, {.threads = 1});
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  return executor.ok() ? *std::move(executor) : nullptr;
}

Status step(Executor &executor, float value) {
  const std::vector<float> x(kSize, value);
  DLC_TRY(executor.setInput("train", "x", x.data(), kSize * sizeof(float)));
  return executor.run("train");
}

// The first and the last element.
std::pair<float, float> endsOf(Executor &executor, const char *name) {
  std::vector<float> values(kSize);
  EXPECT_TRUE(
      executor.readState(name, values.data(), kSize * sizeof(float)).ok());
  return {values.front(), values.back()};
}

TEST(Follower, RunsAfterEveryRun) {
  auto executor = executorOf(followedPlan());
  for (float value : {1.0f, 2.0f, 3.0f}) {
    ASSERT_TRUE(step(*executor, value).ok());
    EXPECT_EQ(endsOf(*executor, "e"), std::pair(value, value));
  }
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(step(*executor, static_cast<float>(i)).ok());
  EXPECT_EQ(endsOf(*executor, "w"), std::pair(299.0f, 299.0f));
  EXPECT_EQ(endsOf(*executor, "e"), std::pair(299.0f, 299.0f));
}

// It may run beside the first command, which touches scratch alone: each has
// scratch memory of its own. The second writes what it reads.
TEST(Follower, RunsBesideWhatItDoesNotTouch) {
  plan::Plan plan = followedPlan();
  std::vector<std::byte> memory(1 << 14);
  RankMemory regions(plan, 0, 1);
  for (int region = 0; region < 3; ++region)
    regions.setRegion(region, memory.data());
  auto follower = Follower::create(plan, plan.programs(1), regions, {});
  ASSERT_TRUE(follower.ok()) << follower.status().message();
  EXPECT_EQ((*follower)->firstConflict(plan.programs(0)), 1u);
  plan.mutable_programs(0)->mutable_commands()->RemoveLast();
  EXPECT_EQ((*follower)->firstConflict(plan.programs(0)), 1u) << "none";
}

TEST(Follower, IsNotRunByItself) {
  auto executor = executorOf(followedPlan());
  const Status status = executor->run("average");
  EXPECT_EQ(status.code(), Code::Usage);
  EXPECT_EQ(status.message(), "'average' runs after 'train' and not by itself");
}

// The error of a run that nobody waited for.
TEST(Follower, ItsErrorIsTheNextOnes) {
  plan::Plan plan = followedPlan();
  plan::Program &average = *plan.mutable_programs(1);
  plan::Buffer &index = *average.add_buffers();
  index.set_region(0);
  index.set_offset(16000);
  index.mutable_type()->set_dtype(plan::I64);
  index.mutable_type()->add_shape(1);
  plan::Command &gather = *average.add_commands();
  gather.set_kind("gather");
  gather.set_label("rows");
  gather.add_inputs(0);
  gather.add_inputs(3);
  gather.add_outputs(4);
  plan::Buffer &row = *average.add_buffers();
  row = average.buffers(1);
  row.mutable_type()->set_shape(0, 1);
  plan::State &state = *plan.add_states();
  state = plan.states(0);
  state.set_name("index");
  state.set_offset(16000);
  *state.mutable_type() = index.type();
  auto executor = executorOf(plan);
  const int64_t beyond = kSize;
  ASSERT_TRUE(executor->writeState("index", &beyond, sizeof beyond).ok());
  ASSERT_TRUE(step(*executor, 1).ok());
  std::vector<std::byte> copy;
  EXPECT_EQ(executor->fetchState("e", copy).status().code(), Code::Failed)
      << "waits for it";
  const Status status = executor->state("e").status();
  EXPECT_EQ(status.code(), Code::Failed);
  EXPECT_NE(status.message().find("gather 'rows': index 1000"),
            std::string::npos);
  EXPECT_EQ(step(*executor, 2).message(), status.message());
}

TEST(Follower, AStepAllocatesNothing) {
  if (!AllocationCounter::available())
    GTEST_SKIP() << "the allocator is the sanitizer's";
  auto executor = executorOf(followedPlan());
  const std::vector<float> x(kSize, 1);
  const auto run = [&] {
    return executor->setInput("train", "x", x.data(), kSize * sizeof(float))
               .ok() &&
           executor->run("train").ok();
  };
  ASSERT_TRUE(run());
  ASSERT_TRUE(executor->state("e").ok());
  AllocationCounter counter;
  ASSERT_TRUE(run());
  EXPECT_EQ(counter.ours(), 0);
}

} // namespace
} // namespace dlc::test

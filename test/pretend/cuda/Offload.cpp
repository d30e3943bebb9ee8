// SPDX-License-Identifier: Apache-2.0
// Copies to pinned memory of the host and back beside commands, on the stand-in
// driver, which does unordered work in any order and reports races.
#include "Fixture.h"

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kCount = 256;
constexpr uint64_t kSize = kCount * sizeof(float);

class CudaOffload : public Cuda {
protected:
  void SetUp() override {
    Cuda::SetUp();
    gpu_ = openWithKernels();
    x_ = *gpu_->allocate(3 * kSize, "memory");
    host_ = *gpu_->allocateHost(kSize);
  }

  void bind(TestCommand command) {
    specs_.push_back(std::move(command));
    auto bound = gpu_->bind(specs_.back().spec());
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    commands_.push_back(*std::move(bound));
  }
  // y = a + b
  void add(std::byte *a, std::byte *b, std::byte *y) {
    bind(std::move(TestCommand("kernel")
                       .set("symbol", "add")
                       .set("grid", 1)
                       .set("block", kCount)
                       .in(a, {kCount})
                       .in(b, {kCount})
                       .out(y, {kCount})));
  }
  void copy(const char *kind, std::byte *from, std::byte *to, int64_t number) {
    bind(std::move(TestCommand(kind)
                       .set("copy", number)
                       .in(from, {kCount})
                       .out(to, {kCount})));
  }
  // x = x + x leaves for the host; its memory holds something else until x is
  // back, and doubles.
  void bindStep(bool waits = true) {
    add(x_, x_, x_);
    copy("offload", x_, host_, 0);
    add(x_, x_, x_ + kSize); // beside the copy
    if (waits)
      copy("wait_copy", x_, x_, 0);
    add(x_ + kSize, x_ + kSize, x_);
    copy("fetch", host_, x_ + 2 * kSize, 1);
    if (waits)
      copy("wait_copy", x_ + 2 * kSize, x_ + 2 * kSize, 1);
    add(x_ + 2 * kSize, x_ + 2 * kSize, x_);
  }
  Status enqueueAll() {
    for (auto &command : commands_)
      DLC_TRY(command->enqueue());
    return {};
  }
  float firstAfter(int steps, bool recorded) {
    const std::vector<float> ones(kCount, 1);
    EXPECT_TRUE(gpu_->upload(x_, ones.data(), kSize).ok());
    std::unique_ptr<Command> graph;
    for (int i = 0; i < steps; ++i) {
      if (recorded && i == 1) {
        EXPECT_TRUE(gpu_->beginRecording().ok());
        EXPECT_TRUE(enqueueAll().ok());
        auto ended = gpu_->endRecording();
        EXPECT_TRUE(ended.ok()) << ended.status().message();
        graph = *std::move(ended);
      }
      const Status done = graph ? graph->enqueue() : enqueueAll();
      EXPECT_TRUE(done.ok()) << done.message();
    }
    std::vector<float> found(kCount);
    EXPECT_TRUE(gpu_->download(found.data(), x_, kSize).ok());
    EXPECT_TRUE(gpu_->synchronize().ok());
    EXPECT_EQ(found.front(), found.back());
    return found.front();
  }

  std::unique_ptr<CudaDevice> gpu_;
  std::byte *x_ = nullptr, *host_ = nullptr;
  std::deque<TestCommand> specs_;
  std::vector<std::unique_ptr<Command>> commands_;
};

TEST_F(CudaOffload, ValuesComeBack) {
  for (const char *seed : {"1", "2", "3", "4"})
    for (bool recorded : {false, true}) {
      Environment order("DLC_STANDIN_SEED", seed);
      commands_.clear();
      gpu_.reset();
      gpu_ = openWithKernels();
      x_ = *gpu_->allocate(3 * kSize, "memory");
      host_ = *gpu_->allocateHost(kSize);
      bindStep();
      EXPECT_EQ(firstAfter(4, recorded), 256) << seed << recorded;
    }
}

TEST_F(CudaOffload, EachDirectionHasItsStream) {
  bindStep();
  ASSERT_TRUE(gpu_->synchronize().ok());
  standin_->clearTrace();
  ASSERT_TRUE(enqueueAll().ok());
  const std::string lines = trace();
  const auto streamOf = [&](const std::string &call) {
    const size_t at = lines.find(" s", lines.find(call));
    return lines.substr(at, lines.find_first_of(" \n", at + 1) - at);
  };
  const std::string out = streamOf("cuMemcpyDtoHAsync"),
                    in = streamOf("cuMemcpyHtoDAsync"),
                    compute = streamOf("cuLaunchKernel");
  EXPECT_NE(out, in) << lines;
  EXPECT_NE(out, compute) << lines;
  EXPECT_NE(in, compute) << lines;
  EXPECT_EQ(lines.find("Synchronize"), lines.npos) << lines;
}

// The stand-in sees that a copy and a command use one range at a time.
TEST_F(CudaOffload, WithoutWaitsThereAreRaces) {
  bindStep(false);
  firstAfter(1, false);
  EXPECT_GT(takeViolations(), 0);
}

TEST_F(CudaOffload, RefusesAWaitForNothing) {
  const TestCommand wait = std::move(
      TestCommand("wait_copy").set("copy", 7).in(x_, {1}).out(x_, {1}));
  EXPECT_EQ(gpu_->bind(wait.spec()).status().message(),
            "wait_copy 'wait_copy_node': copy 7 has not been started");
}

} // namespace

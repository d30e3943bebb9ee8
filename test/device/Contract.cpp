// SPDX-License-Identifier: Apache-2.0
// What Device promises whatever the kind: memory, errors, kernels, threads.
#include "Fixture.h"

#include <atomic>

namespace dlc::test {
namespace {

TEST(Device, MemoryIsZeroedAndAligned) {
  CpuDevice device;
  for (uint64_t bytes : {uint64_t(0), uint64_t(1), uint64_t(5) << 20}) {
    auto memory = device.allocate(bytes, "region");
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 64, 0u);
    for (uint64_t i = 0; i < bytes; ++i)
      ASSERT_EQ((*memory)[i], std::byte(0));
  }
  EXPECT_EQ(device.memory().regions, (uint64_t(5) << 20) + 1);
}

TEST(Device, TooMuchMemoryIsALimit) {
  CpuDevice device;
  const auto memory = device.allocate(uint64_t(1) << 60, "params");
  EXPECT_EQ(memory.status().code(), Code::Limit);
  EXPECT_EQ(memory.status().message(),
            "cannot allocate 1152921504606846976 bytes for params");
}

TEST(Device, CopiesBothWays) {
  CpuDevice device;
  std::byte *memory = *device.allocate(8, "region");
  const uint64_t value = 0x0123456789abcdef;
  uint64_t back = 0;
  ASSERT_TRUE(device.upload(memory, &value, 8).ok());
  ASSERT_TRUE(device.download(&back, memory, 8).ok());
  EXPECT_EQ(back, value);
  ASSERT_TRUE(device.fill(memory, 0xff, 8).ok());
  EXPECT_EQ(*device.hostPointer(memory), std::byte(0xff));
}

TEST(Device, UnknownKindIsIncompatible) {
  CpuDevice device;
  std::vector<Tensor> none;
  const Status status = tryRun(device, "fft", {}, none, none);
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_NE(status.message().find("'fft'"), std::string::npos);
}

TEST(Device, OperandCountIsChecked) {
  CpuDevice device;
  for (const char *kind :
       {"matmul", "conv", "conv_backward_data", "conv_backward_filter",
        "max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward",
        "batch_norm", "batch_norm_backward", "gather", "scatter_add", "copy",
        "all_finite", "global_norm", "orthogonalize", "unique_rows",
        "put_rows"}) {
    std::vector<Tensor> none;
    const Status status = tryRun(device, kind, {}, none, none);
    EXPECT_EQ(status.code(), Code::Corrupt) << kind;
    EXPECT_NE(status.message().find(fmt::format("{} 'node': 0 inputs", kind)),
              std::string::npos)
        << status.message();
  }
}

TEST(Device, IntegersAreIncompatible) {
  CpuDevice device;
  std::vector<Tensor> inputs, outputs;
  inputs.emplace_back(plan::I64, Shape{2, 2});
  inputs.emplace_back(plan::I64, Shape{2, 2});
  outputs.emplace_back(plan::I64, Shape{2, 2});
  const Status status = tryRun(device, "matmul", {}, inputs, outputs);
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_EQ(status.message(), "matmul 'node': the element type of an operand "
                              "is i64, expected f32 or f16 or bf16 or f64");
}

TEST(Copy, MovesBytesBetweenShapes) {
  const auto values = randomValues(30000, 1);
  const auto y =
      run({"copy", {}, {{{100, 300}, {}, values}}, {{{30000}}}}, plan::F32, 2);
  EXPECT_EQ(y[0].values(), values);
}

TEST(Copy, SizesMustAgree) {
  CpuDevice device;
  std::vector<Tensor> inputs, outputs;
  inputs.emplace_back(plan::F32, Shape{3});
  outputs.emplace_back(plan::F32, Shape{4});
  EXPECT_EQ(tryRun(device, "copy", {}, inputs, outputs).code(), Code::Corrupt);
}

// kernels.so of these tests is TestKernels.cpp.
class KernelTest : public testing::Test {
protected:
  Status run(const std::string &symbol, int64_t extent, int64_t grain) {
    return tryRun(device_, "kernel",
                  {{"extent", extent}, {"grain", grain}, {"symbol", symbol}},
                  inputs_, outputs_);
  }
  void SetUp() override {
    inputs_.emplace_back(plan::F32, Shape{1000}, randomValues(1000, 1));
    outputs_.emplace_back(plan::F32, Shape{1000}, std::vector<double>(1000, 0));
  }
  CpuDevice device_{3};
  std::vector<Tensor> inputs_, outputs_;
};

TEST_F(KernelTest, DoesEveryItemOnce) {
  ASSERT_TRUE(device_.loadKernels(DLC_TEST_KERNELS).ok());
  for (int64_t grain : {1, 7, 334, 2000})
    ASSERT_TRUE(run("addInput", 1000, grain).ok());
  for (int64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(outputs_[0][i], 4 * inputs_[0][i]);
  ASSERT_TRUE(run("addInput", 0, 1).ok());
}

TEST_F(KernelTest, MissingSymbolIsCorrupt) {
  ASSERT_TRUE(device_.loadKernels(DLC_TEST_KERNELS).ok());
  const Status status = run("nowhere", 1, 1);
  EXPECT_EQ(status.code(), Code::Corrupt);
  EXPECT_NE(status.message().find("no kernel 'nowhere'"), std::string::npos);
}

TEST_F(KernelTest, MissingLibraryIsCorrupt) {
  EXPECT_EQ(device_.loadKernels("/nowhere/kernels.so").code(), Code::Corrupt);
  EXPECT_EQ(run("addInput", 1, 1).code(), Code::Corrupt);
}

TEST(Threads, CoverTheExtentOnce) {
  for (int count : {1, 2, 5}) {
    const Threads threads(count);
    for (int64_t extent : {0, 1, 2, 3, 64, 1000})
      for (int64_t grain : {1, 3, 100, 5000}) {
        std::vector<std::atomic<int>> done(extent);
        std::atomic<int> parts = 0;
        threads.parallelParts(extent, grain,
                              [&](int part, int64_t begin, int64_t end) {
                                EXPECT_LT(part, count);
                                ++parts;
                                for (int64_t i = begin; i < end; ++i)
                                  ++done[i];
                              });
        for (auto &times : done)
          ASSERT_EQ(times, 1);
        EXPECT_LE(parts, std::max<int64_t>(1, (extent + grain - 1) / grain));
      }
  }
}

} // namespace
} // namespace dlc::test

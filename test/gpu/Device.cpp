// SPDX-License-Identifier: Apache-2.0
// What a GPU does for every command: memory, its shortage, recordings, copies
// that keep their order, and NCCL with one rank.
#include "runtime/collective/DeviceCommunicator.h"
#include "test/gpu/Gpu.h"

#include <gtest/gtest.h>

namespace dlc::test {
namespace {

TEST(GpuDevice, MemoryIsZeroedAndAligned) {
  for (const uint64_t bytes : {uint64_t(1), uint64_t(5) << 20}) {
    auto memory = gpu().allocate(bytes, "region");
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 256, 0u);
    std::vector<std::byte> host(bytes, std::byte(1));
    ASSERT_TRUE(gpu().download(host.data(), *memory, bytes).ok());
    EXPECT_EQ(std::count(host.begin(), host.end(), std::byte(0)),
              static_cast<int64_t>(bytes));
  }
}

TEST(GpuDevice, CopiesBothWaysInOrder) {
  const size_t count = 9'000'001; // several times the staging ring
  std::vector<uint32_t> values(count), back(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<uint32_t>(i * 2654435761u);
  std::byte *memory = *gpu().allocate(4 * count, "region");
  for (int round = 0; round < 3; ++round) {
    values[0] = static_cast<uint32_t>(round);
    ASSERT_TRUE(gpu().fill(memory, 0xff, 4 * count).ok());
    ASSERT_TRUE(gpu().upload(memory, values.data(), 4 * count).ok());
    ASSERT_TRUE(gpu().download(back.data(), memory, 4 * count).ok());
    ASSERT_EQ(back, values);
  }
}

// A block that cannot be: the table names what this process holds.
TEST(GpuDevice, TooMuchMemoryIsALimitWithATable) {
  ASSERT_TRUE(gpu().allocate(uint64_t(64) << 20, "held").ok());
  const auto memory =
      gpu().allocate(gpu().context().properties().memory * 2, "params");
  ASSERT_EQ(memory.status().code(), Code::Limit);
  const std::string text = memory.status().message();
  fmt::print("{}\n", text);
  for (const char *part :
       {"has not enough memory for params", " wanted, ", " free", "  held"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  ASSERT_TRUE(gpu().allocate(1 << 20, "after").ok());
}

// Product of a matrix with itself, into another: bound once.
struct Product {
  explicit Product(int64_t size) : size_(size) {
    type_.set_dtype(plan::F32);
    type_.add_shape(size);
    type_.add_shape(size);
    command_.set_kind("matmul");
    command_.set_label("product");
    a = *gpu().allocate(bytes(), "a");
    y = *gpu().allocate(bytes(), "y");
    std::vector<float> ones(static_cast<size_t>(size * size), 1);
    EXPECT_TRUE(gpu().upload(a, ones.data(), bytes()).ok());
  }
  CommandSpec spec() {
    return {command_, {{a, &type_}, {a, &type_}}, {{y, &type_}}};
  }
  uint64_t bytes() const { return static_cast<uint64_t>(size_ * size_) * 4; }

  std::byte *a, *y;

private:
  int64_t size_;
  plan::TensorType type_;
  plan::Command command_;
};

TEST(GpuDevice, ARecordingIsDoneAgainAndAgain) {
  Product product(256);
  auto command = gpu().bind(product.spec());
  ASSERT_TRUE(command.ok()) << command.status().message();
  ASSERT_TRUE(gpu().beginRecording().ok());
  ASSERT_TRUE((*command)->enqueue().ok());
  auto graph = gpu().endRecording();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  float value = -1;
  ASSERT_TRUE(gpu().download(&value, product.y, 4).ok());
  EXPECT_EQ(value, 0); // recorded, not done
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(gpu().fill(product.y, 0, product.bytes()).ok());
    ASSERT_TRUE((*graph)->enqueue().ok());
    ASSERT_TRUE(gpu().download(&value, product.y, 4).ok());
    EXPECT_EQ(value, 256);
  }
  ASSERT_TRUE(gpu().synchronize().ok());
}

// The communicator of a GPU, alone in its group.
class OneRank : public testing::Test {
protected:
  void SetUp() override {
    DeviceGroup group;
    group.control = makeSingleCommunicator();
    group.device = gpu().communicationQueue()->device();
    group.completed = [] { return gpu().communicationQueue()->completed(); };
    group.computed = [] { return gpu().communicationQueue()->passed(); };
    ASSERT_TRUE(gpu().makeCurrent().ok());
    auto made = makeNcclCommunicator(std::move(group));
    if (!made && made.status().code() == Code::Incompatible)
      GTEST_SKIP() << made.status().message();
    ASSERT_TRUE(made.ok()) << made.status().message();
    nccl_ = *std::move(made);
    data_ = *gpu().allocate(4 * kCount, "gradients");
    ASSERT_TRUE(gpu().upload(data_, values_.data(), 4 * kCount).ok());
    queue_ = gpu().communicationQueue();
  }
  // fork, all-reduce, join: what a step does with a bucket.
  Status reduce(int before, int after) {
    DLC_TRY(queue_->fork(before));
    DLC_TRY(nccl_->allReduce(data_, kCount, DType::F32, ReduceOp::Mean,
                             queue_->handle()));
    DLC_TRY(queue_->mark(after));
    return queue_->join(after);
  }
  void expectSame() {
    std::vector<float> back(kCount);
    ASSERT_TRUE(gpu().download(back.data(), data_, 4 * kCount).ok());
    EXPECT_EQ(back, values_);
    const Status status = nccl_->status();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  static constexpr size_t kCount = 1 << 20;
  std::vector<float> values_ = std::vector<float>(kCount, 1.5f);
  std::byte *data_ = nullptr;
  CommunicationQueue *queue_ = nullptr;
  std::unique_ptr<DeviceCommunicator> nccl_;
};

TEST_F(OneRank, MeanOfOneIsItself) {
  const int before = *queue_->addPoint(), after = *queue_->addPoint();
  const Status status = reduce(before, after);
  ASSERT_TRUE(status.ok()) << status.message();
  expectSame();
}

TEST_F(OneRank, MayBeRecorded) {
  const int before = *queue_->addPoint(), after = *queue_->addPoint();
  ASSERT_TRUE(gpu().beginRecording().ok());
  const Status status = reduce(before, after);
  ASSERT_TRUE(status.ok()) << status.message();
  auto graph = gpu().endRecording();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (int round = 0; round < 3; ++round)
    ASSERT_TRUE((*graph)->enqueue().ok());
  expectSame();
}

} // namespace
} // namespace dlc::test

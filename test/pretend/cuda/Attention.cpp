// SPDX-License-Identifier: Apache-2.0
// Attention on the CUDA backend over the fake at our interface to cuDNN, whose
// numbers here can be told without a calculator.
#include "Fixture.h"
#include "runtime/device/cpu/Half.h"

#include <cmath>

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kBatch = 2, kLength = 3, kHeads = 2, kDepth = 8;
constexpr int64_t kCount = kBatch * kLength * kHeads * kDepth;
constexpr int64_t kPart = 4096; // bytes of memory for an operand

plan::DType kHalf = plan::BF16;
const std::vector<int64_t> kRows = {kBatch, kLength, kHeads, kDepth},
                           kSums = {kBatch, kHeads, kLength, 1};

TestCommand forward(std::byte *base, plan::DType type = kHalf) {
  TestCommand command("attention");
  command.in(base, kRows, type).in(base + kPart, kRows, type);
  command.in(base + 2 * kPart, kRows, type);
  command.out(base + 3 * kPart, kRows, type).out(base + 4 * kPart, kSums);
  command.set("layout", "bthd").set("causal", int64_t(1));
  return command;
}

class Attentions : public CudaCommands {
protected:
  Attentions() : CudaCommands(8 * kPart) {}
  void upload(int64_t part, const std::vector<float> &values) {
    std::vector<Bf16> halves;
    for (float value : values)
      halves.push_back(roundToBf16(value));
    ASSERT_TRUE(gpu_->upload(base_ + part * kPart, halves.data(),
                             halves.size() * sizeof(Bf16))
                    .ok());
  }
  std::vector<float> download(int64_t part) {
    std::vector<Bf16> halves(kCount);
    EXPECT_TRUE(gpu_->download(halves.data(), base_ + part * kPart,
                               halves.size() * sizeof(Bf16))
                    .ok());
    std::vector<float> values;
    for (Bf16 half : halves)
      values.push_back(toFloat(half));
    return values;
  }
};

// With q = 0 every key that is seen counts the same: y is a running mean.
TEST_F(Attentions, AreMeansOfWhatIsSeen) {
  std::vector<float> v(kCount);
  const auto at = [](int64_t b, int64_t t, int64_t h, int64_t d) {
    return static_cast<size_t>(((b * kLength + t) * kHeads + h) * kDepth + d);
  };
  for (int64_t t = 0; t < kLength; ++t)
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t d = 0; d < kDepth; ++d)
        v[at(1, t, h, d)] = static_cast<float>((t + 1) * (h + 1) * 2);
  upload(0, std::vector<float>(kCount, 0));
  upload(1, std::vector<float>(kCount, 3));
  upload(2, v);
  run(forward(base_));
  const std::vector<float> y = download(3);
  std::vector<float> lse(kBatch * kHeads * kLength);
  ASSERT_TRUE(
      gpu_->download(lse.data(), base_ + 4 * kPart, lse.size() * sizeof(float))
          .ok());
  for (int64_t t = 0; t < kLength; ++t)
    for (int64_t h = 0; h < kHeads; ++h) {
      EXPECT_FLOAT_EQ(y[at(0, t, h, 5)], 0);
      // mean of 2, 4, ..., 2 (t + 1), times h + 1
      EXPECT_FLOAT_EQ(y[at(1, t, h, 5)], static_cast<float>((t + 2) * (h + 1)));
      EXPECT_FLOAT_EQ(lse[static_cast<size_t>((1 * kHeads + h) * kLength + t)],
                      std::log(static_cast<float>(t + 1)));
    }
}

// The last query alone has a gradient: a third of it for each v.
TEST_F(Attentions, GiveBackWhatTheyTook) {
  std::vector<float> dy(kCount, 0);
  for (int64_t i = 2 * kHeads * kDepth; i < 3 * kHeads * kDepth; ++i)
    dy[static_cast<size_t>(i)] = 6;
  for (int64_t part : {0, 1, 2})
    upload(part, std::vector<float>(kCount, 0));
  run(forward(base_));
  upload(5, dy);
  TestCommand command("attention_backward");
  command.in(base_ + 5 * kPart, kRows, kHalf).in(base_, kRows, kHalf);
  command.in(base_ + kPart, kRows, kHalf).in(base_ + 2 * kPart, kRows, kHalf);
  command.in(base_ + 3 * kPart, kRows, kHalf).in(base_ + 4 * kPart, kSums);
  command.out(base_ + 6 * kPart, kRows, kHalf);
  command.out(base_ + 6 * kPart + 1024, kRows, kHalf);
  command.out(base_ + 7 * kPart, kRows, kHalf);
  command.set("layout", "bthd").set("causal", int64_t(1));
  run(command);
  const std::vector<float> dv = download(7), dq = download(6);
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_FLOAT_EQ(dv[static_cast<size_t>(i)], i < kCount / 2 ? 2.f : 0.f)
        << i;
    EXPECT_FLOAT_EQ(dq[static_cast<size_t>(i)], 0) << i;
  }
}

TEST_F(Attentions, ThatCudnnCannotDoAreRefused) {
  EXPECT_EQ(refusal(forward(base_, plan::F32)),
            "attention 'attention_node': cuDNN's attention needs operands that "
            "are all f16 or all bf16");
  const Environment broken("DLC_STANDIN_CUDNN_VERSION", "91001");
  EXPECT_EQ(refusal(forward(base_)),
            "attention 'attention_node': attention of cuDNN 9.10.1 is broken; "
            "9.10.2 is not; compile with --attention=off to do without cuDNN's "
            "attention");
}

// On sm_100 cuDNN has no deterministic gradient of attention with a mask.
TEST_F(Attentions, WithoutAnEngineSayWhatToDo) {
  const Environment lacks("DLC_STANDIN_CUDNN_LACKS", "attention");
  EXPECT_EQ(refusal(forward(base_)),
            "attention 'attention_node': no engine; compile with "
            "--attention=off to do without cuDNN's attention");
}

// As the real library has it: test/pretend/plans.
TEST_F(Attentions, OfWideHeadsHaveNoGradient) {
  const auto backward = [&](int64_t length, int64_t depth) {
    TestCommand command("attention_backward");
    const std::vector<int64_t> rows = {1, length, 1, depth},
                               sums = {1, 1, length, 1};
    for (int i = 0; i < 5; ++i)
      command.in(base_, rows, kHalf);
    command.in(base_, sums);
    for (int i = 0; i < 3; ++i)
      command.out(base_, rows, kHalf);
    return refusal(command.set("layout", "bthd"));
  };
  const std::string node = "attention_backward 'attention_backward_node': ",
                    wayOut = "; compile with --attention=off to do without "
                             "cuDNN's attention";
  EXPECT_EQ(backward(2, 256), "");
  EXPECT_EQ(backward(2, 264),
            node + "no gradient for heads of more than 256" + wayOut);
  EXPECT_EQ(backward(1, 64),
            node + "no gradient for one query and one key" + wayOut);
  const Environment ampere("DLC_STANDIN_SM", "80");
  EXPECT_EQ(backward(2, 136),
            node + "no gradient for heads of more than 128" + wayOut);
}

TEST_F(Attentions, ThatContradictThemselvesAreRefused) {
  TestCommand command("attention");
  command.in(base_, kRows, kHalf).in(base_ + kPart, {2, 4, 2, 8}, kHalf);
  command.in(base_ + 2 * kPart, kRows, kHalf);
  command.out(base_ + 3 * kPart, kRows, kHalf).out(base_ + 4 * kPart, kSums);
  command.set("layout", "bthd");
  const CommandSpec spec = command.spec();
  EXPECT_EQ(gpu_->bind(spec).status().code(), Code::Corrupt);
  TestCommand masked = forward(base_);
  masked.in(base_ + 5 * kPart, {1, 1, 3, 4}, kHalf).set("has_mask", int64_t(1));
  EXPECT_NE(refusal(masked).find("mask of shape 1x1x3x4 for scores of 2x2x3x3"),
            std::string::npos)
      << refusal(masked);
}

} // namespace

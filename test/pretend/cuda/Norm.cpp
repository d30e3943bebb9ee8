// SPDX-License-Identifier: Apache-2.0
// Norms on the CUDA backend over the fake at our interface to cuDNN, of numbers
// that can be told without a calculator.
#include "Fixture.h"

#include <array>

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kNormPart = 1024; // bytes of memory for an operand
const std::vector<int64_t> kImages = {1, 2, 2, 8}, kChannels = {8},
                           kNormRows = {2, 2, 8}, kRowStatistics = {2, 2, 1};
constexpr size_t kNormElements = 32, kWidth = 8;

class Norms : public CudaCommands {
protected:
  Norms() : CudaCommands(12 * kNormPart) {}
  std::byte *at(int64_t part) const { return base_ + part * kNormPart; }
  void upload(int64_t part, const std::vector<float> &values) {
    ASSERT_TRUE(
        gpu_->upload(at(part), values.data(), values.size() * sizeof(float))
            .ok());
  }
  std::vector<float> download(int64_t part, size_t count) {
    std::vector<float> values(count);
    EXPECT_TRUE(
        gpu_->download(values.data(), at(part), count * sizeof(float)).ok());
    return values;
  }

  // In parts 0..3, out parts 4..6.
  TestCommand forward(bool residual = false, plan::DType type = plan::F32,
                      std::vector<int64_t> parameters = kChannels) {
    TestCommand command("fused_batch_norm");
    command.in(at(0), kImages, type);
    command.in(at(1), parameters).in(at(2), parameters);
    if (residual)
      command.in(at(3), kImages, type)
          .set("has_residual", int64_t(1))
          .set("relu", int64_t(1));
    command.out(at(4), kImages, type);
    return std::move(command.out(at(5), kChannels).out(at(6), kChannels));
  }
};

// Each channel's four pixels are m - 2, m - 2, m + 2, m + 2: mean m, variance
// 4, normalised -1, -1, 1, 1.
std::vector<float> twoAroundMeans() {
  std::vector<float> x(kNormElements);
  for (size_t i = 0; i < kNormElements; ++i)
    x[i] =
        static_cast<float>(i % kWidth) + (i < kNormElements / 2 ? -2.f : 2.f);
  return x;
}

TEST_F(Norms, AddAndCutOff) {
  upload(0, twoAroundMeans());
  upload(1, std::vector<float>(kWidth, 3));
  upload(2, std::vector<float>(kWidth, 1));
  upload(3, std::vector<float>(kNormElements, -2.5));
  run(forward());
  const std::vector<float> plain = download(4, kNormElements),
                           mean = download(5, kWidth),
                           rstd = download(6, kWidth);
  run(forward(true));
  const std::vector<float> cut = download(4, kNormElements);
  for (size_t i = 0; i < kNormElements; ++i) {
    EXPECT_FLOAT_EQ(plain[i], i < kNormElements / 2 ? -2 : 4) << i;
    EXPECT_FLOAT_EQ(cut[i], i < kNormElements / 2 ? 0 : 1.5) << i;
  }
  for (size_t c = 0; c < kWidth; ++c) {
    EXPECT_FLOAT_EQ(mean[c], static_cast<float>(c));
    EXPECT_FLOAT_EQ(rstd[c], 0.5);
  }
  EXPECT_NE(trace().find("cudnn fused_batch_norm"), std::string::npos);
}

// Normalised -1, -1, 1, 1 with the gradient 1, 0, 4, 3: dscale 6, dbias 8 and
// dx = rstd scale (dy - 2 - xhat 6 / 4) = 2 (0.5, -0.5, 0.5, -0.5). A bias of 0
// cuts the first two off.
TEST_F(Norms, GiveGradients) {
  std::vector<float> dy(kNormElements);
  const float each[] = {1, 0, 4, 3};
  for (size_t i = 0; i < kNormElements; ++i)
    dy[i] = each[i / kWidth];
  upload(0, dy);
  upload(1, twoAroundMeans());
  upload(2, std::vector<float>(kWidth, 4));
  std::vector<float> mean(kWidth);
  for (size_t c = 0; c < kWidth; ++c)
    mean[c] = static_cast<float>(c);
  upload(3, mean);
  upload(4, std::vector<float>(kWidth, 0.5));
  upload(8, std::vector<float>(kWidth, 0));
  const auto backward = [&](bool relu) {
    TestCommand command("fused_batch_norm_backward");
    command.in(at(0), kImages).in(at(1), kImages).in(at(2), kChannels);
    command.in(at(3), kChannels).in(at(4), kChannels);
    if (relu)
      command.in(at(8), kChannels).set("has_bias", int64_t(1));
    command.out(at(5), kImages).out(at(6), kChannels).out(at(7), kChannels);
    return command;
  };
  const auto expect = [&](std::array<float, 4> dx, float dscale, float dbias) {
    for (size_t i = 0; i < kNormElements; ++i)
      EXPECT_FLOAT_EQ(download(5, kNormElements)[i], dx[i / kWidth]) << i;
    for (size_t c = 0; c < kWidth; ++c) {
      EXPECT_FLOAT_EQ(download(6, kWidth)[c], dscale);
      EXPECT_FLOAT_EQ(download(7, kWidth)[c], dbias);
    }
  };
  run(backward(false));
  expect({1, -1, 1, -1}, 6, 8);
  run(backward(true)); // dy is 0, 0, 4, 3
  expect({0, 0, 1, -1}, 7, 7);
}

TEST_F(Norms, OfLayers) {
  std::vector<float> x(kNormElements), dy(kNormElements);
  for (size_t i = 0; i < kNormElements; ++i) {
    x[i] = static_cast<float>(i / kWidth) + (i % 2 ? 2.f : -2.f);
    dy[i] = i % kWidth < 2 ? 4 : 0; // of a -1 and a 1
  }
  upload(0, x);
  upload(1, std::vector<float>(kWidth, 3));
  upload(2, std::vector<float>(kWidth, 1));
  upload(7, dy);
  TestCommand command("fused_layer_norm");
  command.in(at(0), kNormRows).in(at(1), kChannels).in(at(2), kChannels);
  command.out(at(3), kNormRows).out(at(4), kRowStatistics);
  command.out(at(5), kRowStatistics).set("axis", int64_t(2));
  run(command);
  const std::vector<float> y = download(3, kNormElements),
                           mean = download(4, 4), rstd = download(5, 4);
  for (size_t i = 0; i < kNormElements; ++i)
    EXPECT_FLOAT_EQ(y[i], i % 2 ? 4 : -2);
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_FLOAT_EQ(mean[row], static_cast<float>(row));
    EXPECT_FLOAT_EQ(rstd[row], 0.5);
  }
  TestCommand back("fused_layer_norm_backward");
  back.in(at(7), kNormRows).in(at(0), kNormRows).in(at(1), kChannels);
  back.in(at(4), kRowStatistics).in(at(5), kRowStatistics);
  back.out(at(8), kNormRows).out(at(9), kChannels).out(at(10), kChannels);
  back.set("axis", int64_t(2));
  run(back);
  // g = 12 twice in 8: dx = 0.5 (g - 3 - xhat 0)
  const std::vector<float> dx = download(8, kNormElements),
                           dscale = download(9, kWidth),
                           dbias = download(10, kWidth);
  for (size_t i = 0; i < kNormElements; ++i)
    EXPECT_FLOAT_EQ(dx[i], i % kWidth < 2 ? 4.5 : -1.5);
  for (size_t c = 0; c < kWidth; ++c) {
    EXPECT_FLOAT_EQ(dscale[c], c > 1 ? 0 : c == 0 ? -16 : 16);
    EXPECT_FLOAT_EQ(dbias[c], c > 1 ? 0 : 16);
  }
}

TEST_F(Norms, ThatCudnnCannotDoAreRefused) {
  EXPECT_EQ(
      refusal(forward(false, plan::F64)),
      "fused_batch_norm 'fused_batch_norm_node': norms as one call need x in "
      "f16, bf16 or f32");
  const Environment lacks("DLC_STANDIN_CUDNN_LACKS", "fused_batch_norm");
  EXPECT_EQ(refusal(forward()),
            "fused_batch_norm 'fused_batch_norm_node': no engine; compile with "
            "--norm=generated to do without cuDNN's norms");
}

TEST_F(Norms, ThatContradictThemselvesAreRefused) {
  const TestCommand few = forward(false, plan::F32, {4});
  const CommandSpec spec = few.spec();
  EXPECT_EQ(gpu_->bind(spec).status().code(), Code::Corrupt);
  EXPECT_EQ(refusal(few), "fused_batch_norm 'fused_batch_norm_node': 4 "
                          "parameters of 4, expected 8");
  TestCommand layer("fused_layer_norm");
  layer.in(at(0), kNormRows).in(at(1), kChannels).in(at(2), kChannels);
  layer.out(at(3), kNormRows).out(at(4), kRowStatistics);
  layer.out(at(5), kRowStatistics).set("axis", int64_t(3));
  EXPECT_EQ(refusal(layer), "fused_layer_norm 'fused_layer_norm_node': axis 3 "
                            "of x of 2x2x8");
}

// Several operations cannot be one graph in place; a GPU says so, or worse.
TEST_F(Norms, DoNotWorkInPlace) {
  TestCommand command("fused_batch_norm");
  command.in(at(0), kImages).in(at(1), kChannels).in(at(2), kChannels);
  command.out(at(0), kImages).out(at(5), kChannels).out(at(6), kChannels);
  const CommandSpec spec = command.spec();
  auto bound = gpu_->bind(spec);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  const Status started = (*bound)->enqueue();
  EXPECT_FALSE(started.ok() && gpu_->synchronize().ok());
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Convolutions on the CUDA backend over the fake at our interface to cuDNN:
// they reach it in stream order, with their workspace, and may be recorded.
#include "Fixture.h"

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kX = 0, kW = 16384, kB = 32768, kY = 49152, kAll = 65536;

// Images of one to three dimensions and filters, channels last.
TestCommand commandOf(const char *kind, size_t dims, std::byte *base) {
  std::vector<int64_t> x(dims, 6), w(dims, 3), y(dims, 3);
  for (auto *image : {&x, &y})
    image->insert(image->begin(), 2);
  x.push_back(4), y.push_back(8), w.push_back(4);
  w.insert(w.begin(), 8);
  TestCommand command(kind);
  if (std::string_view(kind) == "conv")
    command.in(base + kX, x)
        .in(base + kW, w)
        .in(base + kB, {8})
        .out(base + kY, y);
  else if (std::string_view(kind) == "conv_backward_data")
    command.in(base + kY, y).in(base + kW, w).out(base + kX, x);
  else
    command.in(base + kX, x).in(base + kY, y).out(base + kW, w);
  command.list("strides", std::vector<int64_t>(dims, 2))
      .list("pads", std::vector<int64_t>(2 * dims, 1))
      .list("dilations", std::vector<int64_t>(dims, 1))
      .set("group", int64_t(1));
  command.set("layout", "nhwc").set("filters_last", int64_t(1));
  if (std::string_view(kind) == "conv")
    command.set("has_bias", int64_t(1)).set("activation", "relu");
  return command;
}

TEST_F(Cuda, Convolutions) {
  for (size_t dims : {1, 2, 3})
    for (const char *kind :
         {"conv", "conv_backward_data", "conv_backward_filter"}) {
      auto gpu = open();
      std::vector<float> found, memory;
      ASSERT_NO_FATAL_FAILURE(runOnBoth(
          *gpu, [&](std::byte *base) { return commandOf(kind, dims, base); },
          kAll / 4, true, found, memory));
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], memory[i], 1e-4) << kind << dims << " " << i;
      EXPECT_GT(gpu->memory().workspace, 0u);
    }
}

// What cuDNN would convert in each call.
TEST_F(Cuda, FiltersAreAsTheImages) {
  auto gpu = open();
  std::byte *const base = *gpu->allocate(kAll, "memory");
  const auto bind = [&](int64_t channels, bool last, int64_t taps) {
    const std::vector<int64_t> w = {8, last ? taps : channels, taps,
                                    last ? channels : taps};
    TestCommand command("conv");
    command.in(base, {2, 6, 6, channels}).in(base + kW, w);
    command.out(base + kY, {2, 7 - taps, 7 - taps, 8}).set("layout", "nhwc");
    command.set("filters_last", int64_t(last));
    EXPECT_TRUE(gpu->bind(command.spec()).ok());
    return takeViolations();
  };
  EXPECT_EQ(bind(4, true, 3), 0);
  EXPECT_EQ(bind(4, false, 3), 1);
  EXPECT_EQ(bind(1, false, 3), 0); // both are one
  EXPECT_EQ(bind(4, false, 1), 0);
}

TEST_F(Cuda, ConvolutionsThatContradictThemselves) {
  auto gpu = open();
  std::byte *const base = *gpu->allocate(kAll, "memory");
  TestCommand command("conv");
  command.in(base, {2, 4, 6, 6}).in(base + kW, {8, 5, 3, 3});
  command.out(base + kY, {2, 8, 6, 6}).list("pads", {1, 1, 1, 1});
  EXPECT_EQ(gpu->bind(command.spec()).status().code(), Code::Corrupt);
}

} // namespace

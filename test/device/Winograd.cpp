// SPDX-License-Identifier: Apache-2.0
// Convolutions by the CPU's own products, against the plain loops in f64, and
// to the bit for any number of threads.
#include "Fixture.h"
#include "runtime/device/cpu/tiles/TileLoops.h"

namespace dlc::test {
namespace {

struct WinogradShape {
  std::string name;
  int64_t images, inputs, outputs, height, width;
  Shape pads = {1, 1, 1, 1};
  bool filtersLast = false;
};

// Sizes that are multiples of no tile, of one image and of some; channels whose
// tiles stay in a core's cache, in one chunk and in some, and whose filters do.
const std::vector<WinogradShape> kWinogradShapes = {
    {"even", 2, 16, 32, 8, 12},
    {"odd", 3, 48, 16, 7, 13},
    {"onePixel", 1, 16, 16, 3, 3, {0, 0, 0, 0}},
    {"oneRow", 2, 16, 16, 1, 9},
    {"asymmetric", 2, 16, 16, 9, 6, {0, 1, 2, 0}},
    {"widelyPadded", 1, 16, 16, 5, 4, {3, 4, 3, 2}},
    {"filtersLast", 2, 16, 48, 6, 6, {1, 1, 1, 1}, true},
    {"chunks", 1, 112, 16, 10, 10},
    {"filtersOutside", 5, 208, 32, 12, 20},
    {"oddBlocksOutside", 1, 208, 48, 5, 6},
};

Case winogradCase(const WinogradShape &s, const std::string &kind,
                  int64_t tile) {
  const Shape x = {s.images, s.height, s.width, s.inputs},
              y = {s.images, s.height + s.pads[0] + s.pads[2] - 2,
                   s.width + s.pads[1] + s.pads[3] - 2, s.outputs},
              w = s.filtersLast ? Shape{s.outputs, 3, 3, s.inputs}
                                : Shape{s.outputs, s.inputs, 3, 3};
  Case c{kind,
         {{"filters_last", int64_t(s.filtersLast)},
          {"layout", std::string("nhwc")},
          {"pads", s.pads},
          {"winograd", tile}},
         {},
         {}};
  if (kind == "conv") {
    c.attributes["has_bias"] = int64_t(1);
    c.inputs = {{x}, {w}, {{s.outputs}}};
    c.outputs = {{y}};
  } else if (kind == "conv_backward_data") {
    c.inputs = {{y}, {w}};
    c.outputs = {{x}};
  } else {
    c.inputs = {{x}, {y}};
    c.outputs = {{w}};
  }
  return c;
}

void expectNearForAnyThreads(const Case &c, int64_t tile) {
  EXPECT_LE(relativeError(run(c, plan::F32, 2)[0], run(c, plan::F64, 1)[0]),
            tile == 4 ? 2e-6 : 5e-7);
  expectThreadInvariant(c, plan::F32);
}

// Products and sums of halves are of f32: what is stored is rounded once.
void expectHalvesAreNear(const Case &c) {
  for (const auto &[type, most] :
       {std::pair(plan::BF16, 4e-3), std::pair(plan::F16, 6e-4)}) {
    EXPECT_LE(relativeError(run(c, type, 2)[0], run(c, plan::F64, 1)[0]), most);
    expectThreadInvariant(c, type);
  }
}

class WinogradTest : public testing::TestWithParam<
                         std::tuple<WinogradShape, std::string, int64_t>> {};

TEST_P(WinogradTest, IsNearForAnyThreads) {
  const auto &[shape, kind, tile] = GetParam();
  expectNearForAnyThreads(winogradCase(shape, kind, tile), tile);
  expectHalvesAreNear(winogradCase(shape, kind, tile));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, WinogradTest,
    testing::Combine(testing::ValuesIn(kWinogradShapes),
                     testing::Values(std::string("conv"),
                                     std::string("conv_backward_data"),
                                     std::string("conv_backward_filter")),
                     testing::Values(int64_t(2), int64_t(4))),
    [](const auto &info) {
      return std::get<0>(info.param).name + "_" + std::get<1>(info.param) +
             "_" + std::to_string(std::get<2>(info.param));
    });

// More tiles than are transformed at once.
TEST(Winograd, SumsManyTiles) {
  for (int64_t tile : {1, 2, 4})
    expectNearForAnyThreads(
        winogradCase({"", 1, 16, 16, 172, 170}, "conv_backward_filter", tile),
        tile);
}

// Threads beyond the parts of the tiles share a part; 80 channels have an odd
// number of blocks.
TEST(Winograd, SharesPartsAmongManyThreads) {
  for (int64_t tile : {2, 4}) {
    const Case c =
        winogradCase({"", 2, 80, 48, 21, 26}, "conv_backward_filter", tile);
    expectNearForAnyThreads(c, tile);
    expectThreadInvariant(c, plan::F32, {9, 20, 60});
  }
}

// The filters' gradient as plain products, of any window.
TEST(Winograd, ComputesFilterGradientsOfAnyWindow) {
  struct Window {
    int64_t kernel, stride, dilation, pad;
  };
  for (const Window &w : {Window{1, 1, 1, 0},
                          {1, 2, 1, 0},
                          {3, 2, 1, 1},
                          {3, 1, 2, 2},
                          {5, 3, 1, 4},
                          {2, 2, 1, 0}})
    for (bool filtersLast : {false, true}) {
      const int64_t inputs = 48, outputs = 80, height = 11, width = 14;
      const auto along = [&](int64_t size) {
        return (size + 2 * w.pad - (w.kernel - 1) * w.dilation - 1) / w.stride +
               1;
      };
      Case c{"conv_backward_filter",
             {{"filters_last", int64_t(filtersLast)},
              {"layout", std::string("nhwc")},
              {"pads", Shape{w.pad, w.pad, w.pad, w.pad}},
              {"strides", Shape{w.stride, w.stride}},
              {"dilations", Shape{w.dilation, w.dilation}},
              {"winograd", int64_t(1)}},
             {{{3, height, width, inputs}},
              {{3, along(height), along(width), outputs}}},
             {{filtersLast ? Shape{outputs, w.kernel, w.kernel, inputs}
                           : Shape{outputs, inputs, w.kernel, w.kernel}}}};
      expectNearForAnyThreads(c, 2);
    }
}

// Of a filters' gradient in bf16.
struct FilterShapes {
  int64_t images, inputs, outputs;
  Shape size, kernel, stride, dilation, pads;
};

void expectTilesAreRight(const FilterShapes &s) {
  const size_t dims = s.size.size();
  Shape x{s.images}, y{s.images}, w{s.outputs, s.inputs};
  for (size_t d = 0; d < dims; ++d) {
    x.push_back(s.size[d]);
    y.push_back((s.size[d] + s.pads[d] + s.pads[dims + d] -
                 (s.kernel[d] - 1) * s.dilation[d] - 1) /
                    s.stride[d] +
                1);
    w.push_back(s.kernel[d]);
  }
  x.push_back(s.inputs), y.push_back(s.outputs);
  const Case c{"conv_backward_filter",
               {{"layout", std::string("nhwc")},
                {"pads", s.pads},
                {"strides", s.stride},
                {"dilations", s.dilation}},
               {{x}, {y}},
               {{w}}};
  EXPECT_LE(relativeError(run(c, plan::BF16, 2)[0], run(c, plan::F64, 1)[0]),
            4e-3);
  expectThreadInvariant(c, plan::BF16);
}

// By AMX's tiles: windows, frames that end within a step, waves at once and
// after each other.
TEST(TileFilter, ComputesAnyWindow) {
  if (!tileLoops() || !tileLoops()->isAmx)
    GTEST_SKIP() << "this CPU has no AMX for bf16";
  for (const FilterShapes &s : std::vector<FilterShapes>{
           {1, 32, 32, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {3, 64, 96, {11, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
           {2, 96, 32, {11, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
           {2, 32, 64, {9, 7}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
           {2, 32, 32, {9, 13}, {5, 3}, {3, 1}, {1, 2}, {4, 0, 1, 3}},
           {2, 32, 32, {6, 5}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
           {1, 32, 32, {5, 4}, {3, 3}, {1, 1}, {1, 1}, {3, 4, 3, 2}},
           {2, 32, 32, {9, 9}, {3, 3}, {4, 5}, {1, 1}, {0, 0, 0, 0}},
           {1, 32, 32, {8, 8}, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}},
           {2, 3, 32, {17, 19}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
           {2, 1, 64, {9, 8}, {3, 5}, {1, 1}, {2, 1}, {2, 0, 2, 4}},
           {3, 16, 32, {7, 5}, {1, 2}, {1, 3}, {1, 1}, {0, 0, 0, 0}},
           {2, 3, 32, {4, 4}, {4, 4}, {4, 4}, {1, 1}, {0, 0, 0, 0}},
           {2, 64, 32, {37}, {3}, {2}, {1}, {1, 1}},
           {1, 32, 32, {130, 130}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {1, 4, 32, {140, 140}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
           {1, 1, 32, {390, 400}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}})
    expectTilesAreRight(s);
}

// By tiles or vectors: one tap, and short rows, of few channels and of many,
// whose waves are computed at once or share their sums.
TEST(TileFilter, ComputesOneTapAndShortRows) {
  if (!tileLoops())
    GTEST_SKIP() << "this CPU has no products of bf16";
  for (const FilterShapes &s : std::vector<FilterShapes>{
           {1, 96, 128, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {2, 128, 96, {9, 7}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
           {1, 128, 96, {140, 140}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {1, 512, 288, {30, 50}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
           {3, 96, 128, {15, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
           {2, 128, 128, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
           {2, 128, 96, {20}, {3}, {3}, {1}, {1, 1}}})
    expectTilesAreRight(s);
}

// A plan that asks for what does not exist is refused.
TEST(Winograd, RefusesWhatItCannotCompute) {
  CpuDevice device(1);
  const WinogradShape shape{"", 1, 16, 16, 8, 8};
  std::vector<Case> cases(7, winogradCase(shape, "conv_backward_data", 2));
  cases[0].attributes["winograd"] = int64_t(3);
  cases[1] = winogradCase({"", 1, 24, 16, 8, 8}, "conv_backward_data", 2);
  cases[2].attributes["strides"] = Shape{2, 2};
  cases[2].inputs[0].shape = {1, 4, 4, 16};
  cases[3].attributes["dilations"] = Shape{2, 2};
  cases[3].inputs[0].shape = {1, 6, 6, 16};
  cases[4].inputs[0].fixed = plan::BF16;
  cases[5].attributes["winograd"] = int64_t(1);
  cases[6] = winogradCase(shape, "conv_backward_filter", 1);
  for (Case::Slot &slot : cases[6].inputs)
    slot.fixed = plan::BF16;
  cases[6].outputs[0].fixed = plan::BF16;
  for (const Case &c : cases) {
    auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
    const Status status = tryRun(device, c.kind, c.attributes, inputs, outputs);
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(status.message().find("winograd=") != std::string::npos ||
                status.message().find("operand") != std::string::npos)
        << status.message();
  }
}

} // namespace
} // namespace dlc::test

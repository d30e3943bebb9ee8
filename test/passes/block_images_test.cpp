// SPDX-License-Identifier: Apache-2.0
// Convolutions and the gradients of their filters are the same numbers with
// dlc-block-images as without, for shapes of one to three dimensions.
#include "compiler/reference/Interpreter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;

namespace {

using Sizes = std::vector<int64_t>;

std::string join(const Sizes &sizes, const char *between) {
  std::string s;
  for (int64_t n : sizes)
    s += (s.empty() ? "" : between) + std::to_string(n);
  return s;
}

struct Case {
  int64_t channels, stride;
  Sizes image, kernel, pads;

  Sizes outputs() const {
    Sizes y;
    for (size_t d = 0; d < image.size(); ++d)
      y.push_back((image[d] + pads[d] + pads[image.size() + d] - kernel[d]) /
                      stride +
                  1);
    return y;
  }
};

void PrintTo(const Case &c, std::ostream *os) {
  *os << c.channels << " channels, stride " << c.stride << ", kernel "
      << join(c.kernel, "x");
}

const Case kCases[] = {
    {3, 2, {12, 10}, {7, 7}, {3, 3, 3, 3}},   // the stem of a ResNet
    {3, 4, {16, 8}, {4, 4}, {0, 0, 0, 0}},    // patches
    {3, 4, {19, 14}, {4, 4}, {0, 0, 0, 0}},   // ... that leave a rest
    {5, 2, {9, 8}, {3, 3}, {1, 0, 1, 1}},     // uneven
    {1, 2, {8, 7}, {4, 5}, {1, 2, 1, 3}},     // odd pads
    {7, 3, {10, 11}, {5, 3}, {2, 2, 0, 4}},   // no power of two
    {2, 2, {7, 7}, {6, 6}, {5, 5, 5, 5}},     // mostly padding
    {3, 2, {30, 10}, {2, 2}, {0, 0, -17, 0}}, // whole blocks are cut
    {3, 5, {23}, {10}, {4, 3}},               //
    {2, 2, {6, 5, 8}, {3, 2, 4}, {1, 1, 1, 1, 1, 1}},
};

std::string tensor(int64_t a, int64_t b, const Sizes &sizes) {
  return "tensor<" + join({a, b}, "x") + "x" + join(sizes, "x") + "xbf16>";
}
std::string list(const Sizes &sizes) {
  return "array<i64: " + join(sizes, ", ") + ">";
}

constexpr int64_t kRows = 2, kOutputs = 3;

std::string textOf(const Case &c) {
  const Sizes ones(c.image.size(), 1), strides(c.image.size(), c.stride);
  const std::string x = tensor(kRows, c.channels, c.image),
                    w = tensor(kOutputs, c.channels, c.kernel),
                    y = tensor(kRows, kOutputs, c.outputs());
  Sizes axes;
  for (size_t d = 0; d < c.image.size() + 2; ++d)
    axes.push_back(d);
  return "dlc.state @w : " + w + " param init = \"w\" trainable\n" +
         "func.func @train_step(%x: " + x + ") -> (tensor<f32>, " + y +
         ") {\n%w = dlc.read @w : " + w +
         "\n%y = dlc.conv %x, %w {strides = " + list(strides) +
         ", pads = " + list(c.pads) + ", dilations = " + list(ones) + "} : (" +
         x + ", " + w + ") -> " + y + "\n%s = dlc.mul %y, %y : (" + y + ", " +
         y + ") -> " + y + "\n%h = dlc.reduce_sum %s {axes = " + list(axes) +
         "} : (" + y + ") -> tensor<bf16>\n" +
         "%l = dlc.cast %h : (tensor<bf16>) -> tensor<f32>\n" +
         "return %l, %y : tensor<f32>, " + y + "\n}\n";
}

/// Small integers, so that sums are exact in any order.
reference::Tensor made(Sizes shape, int64_t a, int64_t b, int seed) {
  shape.insert(shape.begin(), {a, b});
  reference::Tensor t{ir::Ints(shape)};
  for (size_t i = 0; i < t.data.size(); ++i)
    t.data[i] = double((i * 31 + i / 7 * 5 + seed) % 9) - 4;
  return t;
}

class BlockImages : public testing::TestWithParam<Case> {
protected:
  BlockImages() {
    DialectRegistry registry;
    registry.insert<ir::DlcDialect, func::FuncDialect>();
    registerGradients(registry);
    context.appendDialectRegistry(registry);
  }

  reference::Outcome run(bool blocks) {
    const Case &c = GetParam();
    auto module = parseSourceString<ModuleOp>(textOf(c), &context);
    if (!module)
      throw std::runtime_error("not parsed");
    PassManager passes(&context);
    if (blocks)
      passes.addPass(createBlockImages());
    passes.addPass(createAutodiff());
    if (failed(passes.run(*module)))
      throw std::runtime_error("not compiled");
    auto step = module->lookupSymbol<func::FuncOp>("train_step");
    bool isStrided = false;
    step.walk(
        [&](ir::ConvOp conv) { isStrided |= conv.getStrides().front() != 1; });
    EXPECT_EQ(isStrided, !blocks);
    return *reference::interpret(
        step, {made(c.image, kRows, c.channels, 1)},
        {{"w", made(c.kernel, kOutputs, c.channels, 5)}});
  }

  MLIRContext context;
};

TEST_P(BlockImages, SameNumbers) {
  const reference::Outcome plain = run(false), blocked = run(true);
  ASSERT_EQ(plain.results.size(), blocked.results.size());
  for (auto [a, b] : llvm::zip(plain.results, blocked.results)) {
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.data, b.data);
  }
  EXPECT_EQ(plain.gradients.at("w").shape, blocked.gradients.at("w").shape);
  EXPECT_EQ(plain.gradients.at("w").data, blocked.gradients.at("w").data);
}

INSTANTIATE_TEST_SUITE_P(All, BlockImages, testing::ValuesIn(kCases));

} // namespace

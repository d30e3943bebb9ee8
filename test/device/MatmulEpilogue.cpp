// SPDX-License-Identifier: Apache-2.0
// Products with activations, their gradients and sums.
#include "Fixture.h"

namespace dlc::test {
namespace {

// y[m, n]; rows are multiples of 16 bytes in all types, as the compiler has it.
struct EndedProduct {
  std::string name;
  Shape a, b, y;
  bool transA = false, transB = false;
};

const std::vector<EndedProduct> kEndedProducts = {
    {"plain", {8, 16}, {16, 24}, {8, 24}},
    {"transB", {7, 16}, {24, 16}, {7, 24}, false, true},
    {"transA", {16, 8}, {16, 24}, {8, 24}, true},
    {"batches", {2, 3, 16}, {40, 16}, {2, 3, 40}, false, true},
    {"wide", {5, 8}, {8, 200}, {5, 200}},
    {"layer", {32, 96}, {96, 128}, {32, 128}},
};

Attributes flags(const EndedProduct &p) {
  return {{"trans_a", int64_t(p.transA)}, {"trans_b", int64_t(p.transB)}};
}

// With `activation`, of relu the bits that a run of the forward product gave.
Case forward(const EndedProduct &p, const std::string &activation,
             bool hasBias) {
  Case c{"matmul_activation", flags(p), {{p.a}, {p.b}}, {{p.y}, {p.y}}};
  c.attributes["activation"] = activation;
  if (hasBias) {
    c.attributes["has_bias"] = int64_t(1);
    c.inputs.push_back({{p.y.back()}});
  }
  if (activation == "relu") {
    c.outputs[1].fixed = plan::U8;
    c.outputs[1].shape.back() = (p.y.back() + 127) / 128 * 16;
  }
  return c;
}
Case backward(const EndedProduct &p, const std::string &activation, bool sums) {
  Case c{
      "matmul_activation_backward", flags(p), {{p.a}, {p.b}, {p.y}}, {{p.y}}};
  c.attributes["activation"] = activation;
  if (sums)
    c.outputs.push_back({{p.y.back()}});
  return c;
}

class MatmulEpilogueTest : public testing::TestWithParam<EndedProduct> {};

TEST_P(MatmulEpilogueTest, GeluConforms) {
  for (bool more : {false, true}) {
    expectConforms(forward(GetParam(), "gelu_tanh", more));
    expectConforms(backward(GetParam(), "gelu_tanh", more), 4e-6);
  }
}

// What a device keeps of relu, it alone understands: its backward product gets
// what its forward product made. All sums are exact, so that signs agree.
TEST_P(MatmulEpilogueTest, ReluConforms) {
  for (bool more : {false, true}) {
    const Case first = forward(GetParam(), "relu", more);
    const auto second = [&](const Tensor &kept) {
      Case c = backward(GetParam(), "relu", more);
      c.inputs[2] = {first.outputs[1].shape, plan::U8, kept.values()};
      return c;
    };
    const auto truth = run(first, plan::F64, 1);
    const auto gradients = run(second(truth[1]), plan::F64, 1);
    for (auto [type, tolerance] :
         {std::pair(plan::F32, 2e-6 * kSlack), std::pair(plan::BF16, 1e-2),
          std::pair(plan::F16, 2e-3)}) {
      const auto y = runJudged(first, type, 2);
      if (!y)
        continue;
      EXPECT_LE(relativeError((*y)[0], truth[0]), tolerance);
      const auto dx = runJudged(second((*y)[1]), type, 2);
      ASSERT_TRUE(dx);
      for (size_t i = 0; i < gradients.size(); ++i)
        EXPECT_LE(relativeError((*dx)[i], gradients[i]), tolerance)
            << "output " << i << " in " << plan::DType_Name(type);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatmulEpilogueTest,
                         testing::ValuesIn(kEndedProducts),
                         [](const auto &info) { return info.param.name; });

// The gradient is either operand, summed over the rows of both.
TEST(MatmulBiasBackward, Conforms) {
  for (int64_t depth : {16, 40})
    for (const char *of : {"a", "b"}) {
      Case c{"matmul_bias_backward",
             {{"trans_a", int64_t(1)}, {"of", std::string(of)}},
             {{{depth, 24}}, {{depth, 8}}},
             {{{24, 8}}, {{*of == 'a' ? 24 : 8}}}};
      expectConforms(c);
    }
  expectConforms({"matmul_bias_backward",
                  {{"trans_a", int64_t(1)},
                   {"trans_b", int64_t(1)},
                   {"of", std::string("a")}},
                  {{{16, 24}}, {{8, 16}}},
                  {{{24, 8}}, {{24}}}});
}

// dy passes through a product with 1; the bias's gradient by differences.
TEST(MatmulEpilogue, GradientIsRight) {
  for (const char *activation : {"relu", "gelu_tanh"}) {
    const EndedProduct p{"", {4, 3}, {3, 2}, {4, 2}};
    Case first = forward(p, activation, true);
    first.inputs[2].values = {0.3, -0.7}; // no sum is 0
    const auto kept = run(first, plan::F64, 1);
    const std::vector<double> weights = randomValues(8, 9);
    const Case c{
        "matmul_activation_backward",
        {{"activation", std::string(activation)}},
        {{{4, 2}, {}, weights},
         {{2, 2}, {}, {1, 0, 0, 1}},
         {first.outputs[1].shape, first.outputs[1].fixed, kept[1].values()}},
        {{{4, 2}}, {{2}}}};
    expectIsGradient(first, 2, 0, weights, run(c, plan::F64, 1)[1].values());
  }
}

TEST(MatmulEpilogue, OperandsThatDisagreeAreCorrupt) {
  CpuDevice device(1);
  device.add(productEpilogues());
  const auto refuse = [&](const Case &c) {
    auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
    return tryRun(device, c.kind, c.attributes, inputs, outputs).message();
  };
  const EndedProduct p{"", {4, 3}, {3, 2}, {4, 2}};
  Case c = forward(p, "relu", false);
  c.outputs[1].shape = {4, 8};
  EXPECT_EQ(refuse(c), "matmul_activation 'node': kept has shape [4,8], "
                       "expected 4 rows of 16");
  EXPECT_EQ(refuse(forward(p, "tanh", false)),
            "matmul_activation 'node': expected activation relu or gelu_tanh, "
            "found 'tanh'");
  c = backward(p, "gelu_tanh", true);
  c.outputs[1].shape = {3};
  EXPECT_EQ(refuse(c), "matmul_activation_backward 'node': the shape of dbias "
                       "is [3], expected [2]");
  EXPECT_EQ(refuse({"matmul_bias_backward",
                    {{"of", std::string("a")}},
                    {{{4, 3}}, {{3, 2}}},
                    {{{4, 2}}, {{4}}}}),
            "matmul_bias_backward 'node': the summed operand's rows are not "
            "contracted");
  EXPECT_EQ(refuse({"matmul_bias_backward",
                    {{"of", std::string("b")}},
                    {{{5, 4, 3}}, {{5, 3, 2}}},
                    {{{5, 4, 2}}, {{2}}}}),
            "matmul_bias_backward 'node': 5 products, expected one of "
            "matrices");
}

} // namespace
} // namespace dlc::test

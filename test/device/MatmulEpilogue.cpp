// SPDX-License-Identifier: Apache-2.0
// Products with activations and sums.
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

Case forward(const EndedProduct &p, const std::string &activation,
             bool hasBias) {
  Case c{"matmul_activation", flags(p), {{p.a}, {p.b}}, {{p.y}, {p.y}}};
  c.attributes["activation"] = activation;
  if (hasBias) {
    c.attributes["has_bias"] = int64_t(1);
    c.inputs.push_back({{p.y.back()}});
  }
  return c;
}

class MatmulEpilogueTest : public testing::TestWithParam<EndedProduct> {};

TEST_P(MatmulEpilogueTest, GeluConforms) {
  for (bool hasBias : {false, true})
    expectConforms(forward(GetParam(), "gelu_tanh", hasBias));
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

TEST(MatmulEpilogue, OperandsThatDisagreeAreCorrupt) {
  CpuDevice device(1);
  device.add(productEpilogues());
  const auto refuse = [&](const Case &c) {
    auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
    return tryRun(device, c.kind, c.attributes, inputs, outputs).message();
  };
  const EndedProduct p{"", {4, 3}, {3, 2}, {4, 2}};
  Case c = forward(p, "gelu_tanh", false);
  c.outputs[1].shape = {4, 8};
  EXPECT_EQ(refuse(c), "matmul_activation 'node': the shape of kept is [4,8], "
                       "expected [4,2]");
  EXPECT_EQ(refuse(forward(p, "relu", false)),
            "matmul_activation 'node': expected activation gelu_tanh, found "
            "'relu'");
  EXPECT_EQ(refuse({"matmul_bias_backward",
                    {{"trans_a", int64_t(1)}, {"of", std::string("a")}},
                    {{{4, 3}}, {{4, 2}}},
                    {{{3, 2}}, {{2}}}}),
            "matmul_bias_backward 'node': the shape of dbias is [2], expected "
            "[3]");
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

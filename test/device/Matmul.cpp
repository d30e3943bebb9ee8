// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"

namespace dlc::test {
namespace {

struct PlainProduct {
  std::string name;
  Shape a, b, y;
  bool transA = false, transB = false;
};

const std::vector<PlainProduct> kPlainProducts = {
    {"one", {1, 1}, {1, 1}, {1, 1}},
    {"primes", {7, 13}, {13, 5}, {7, 5}},
    {"transA", {13, 7}, {13, 5}, {7, 5}, true},
    {"transB", {7, 13}, {5, 13}, {7, 5}, false, true},
    {"transBoth", {13, 7}, {5, 13}, {7, 5}, true, true},
    {"layer", {32, 96}, {96, 64}, {32, 64}},
    {"sharedB", {2, 3, 4, 8}, {8, 6}, {2, 3, 4, 6}},
    {"sharedBTransA", {3, 8, 4}, {8, 6}, {3, 4, 6}, true},
    {"batched", {2, 3, 5, 7}, {2, 3, 7, 4}, {2, 3, 5, 4}},
    {"batchedTransB", {2, 3, 5, 7}, {2, 3, 4, 7}, {2, 3, 5, 4}, false, true},
    {"sharedA", {5, 7}, {2, 3, 7, 4}, {2, 3, 5, 4}},
    {"broadcast", {2, 1, 5, 7}, {3, 7, 4}, {2, 3, 5, 4}},
    {"column", {9, 33}, {33, 1}, {9, 1}},
    {"row", {1, 33}, {33, 9}, {1, 9}},
    {"noRows", {0, 4}, {4, 3}, {0, 3}},
    {"rowsOf4KiB", {9, 33}, {33, 1024}, {9, 1024}},
    {"columnsOf6KiB", {5, 1536}, {5, 70}, {1536, 70}, true},
    {"bothOf2KiB", {3, 7, 512}, {3, 7, 512}, {3, 512, 512}, true},
    {"nothingToSum", {2, 0}, {0, 3}, {2, 3}},
};

Case caseOf(const PlainProduct &p) {
  return {"matmul",
          {{"trans_a", int64_t(p.transA)}, {"trans_b", int64_t(p.transB)}},
          {{p.a}, {p.b}},
          {{p.y}}};
}

class MatmulTest : public testing::TestWithParam<PlainProduct> {};

TEST_P(MatmulTest, Conforms) { expectConforms(caseOf(GetParam())); }

TEST_P(MatmulTest, IntoF32Conforms) {
  Case c = caseOf(GetParam());
  c.outputs[0].fixed = plan::F32;
  expectConforms(c, 2e-6, 2e-6);
}

TEST_P(MatmulTest, WithBiasAndActivationConforms) {
  for (const char *activation : {"relu", "gelu_tanh"}) {
    Case c = caseOf(GetParam());
    c.inputs.push_back({{GetParam().y.back()}});
    c.attributes["has_bias"] = int64_t(1);
    c.attributes["activation"] = std::string(activation);
    expectConforms(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatmulTest, testing::ValuesIn(kPlainProducts),
                         [](const auto &info) { return info.param.name; });

TEST(Matmul, ReferenceIsRight) {
  const auto y = run({"matmul",
                      {{"has_bias", int64_t(1)}, {"trans_b", int64_t(1)}},
                      {{{1, 2}, {}, {1, 2}},
                       {{2, 2}, {}, {3, 4, 5, 6}},
                       {{2}, {}, {100, 200}}},
                      {{{1, 2}}}},
                     plan::F64, 1);
  EXPECT_EQ(y[0].values(), (std::vector<double>{111, 217}));
}

TEST(Matmul, SizesThatDisagreeAreCorrupt) {
  CpuDevice device(1);
  const Case c{"matmul", {}, {{{2, 3}}, {{4, 5}}}, {{{2, 5}}}};
  auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
  const Status status = tryRun(device, c.kind, c.attributes, inputs, outputs);
  EXPECT_EQ(status.code(), Code::Corrupt);
  EXPECT_EQ(status.message(), "matmul 'node': a contracts 3 elements and b 4");
}

} // namespace
} // namespace dlc::test

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

// Some groups have no row, one has most: more than one product.
std::vector<double> groupsOf(int64_t rows, int64_t groups) {
  std::vector<double> result;
  for (int64_t row = 0; row < rows; ++row)
    result.push_back(row % 3 ? 1 : double(row * row % groups) - 2);
  return result;
}

struct Grouped {
  int64_t rows, groups, inner, outer;
};

// y, and the gradient of w.
std::vector<Case> casesOf(const Grouped &g, bool transposed) {
  const Shape x{g.rows, g.inner}, y{g.rows, g.outer},
      w = transposed ? Shape{g.groups, g.outer, g.inner}
                     : Shape{g.groups, g.inner, g.outer};
  const Case::Slot groups{{g.rows}, plan::I64, groupsOf(g.rows, g.groups)};
  const Attributes attributes{{"trans_w", int64_t(transposed)}};
  return {{"grouped_matmul", attributes, {{x}, {w}, groups}, {{y}}},
          {"grouped_matmul_backward_weight",
           attributes,
           {{x}, {y}, groups},
           {{w}}}};
}

TEST(GroupedMatmul, EqualsTheReference) {
  for (const Grouped &g :
       {Grouped{1, 3, 5, 4}, Grouped{700, 6, 33, 20}, Grouped{1300, 4, 16, 48},
        Grouped{0, 3, 5, 4}, Grouped{40, 3, 512, 7}, Grouped{40, 3, 300, 270}})
    for (bool transposed : {false, true})
      for (const Case &c : casesOf(g, transposed)) {
        expectConforms(c);
        expectThreadInvariant(c, plan::F32);
      }
}

TEST(GroupedMatmul, ReferenceIsRight) {
  const auto y = run({"grouped_matmul",
                      {{"trans_w", int64_t(1)}},
                      {{{2, 2}, {}, {1, 2, 3, 4}},
                       {{2, 1, 2}, {}, {10, 20, 30, 40}},
                       {{2}, plan::I64, {1, -2}}},
                      {{{2, 1}}}},
                     plan::F64, 1);
  EXPECT_EQ(y[0].values(), (std::vector<double>{110, 110}));
}

TEST(GroupedMatmul, GroupOutOfRangeIsAnErrorOfTheStep) {
  CpuDevice device(1);
  for (const plan::DType type : {plan::F32, plan::F64})
    for (Case c : casesOf({2, 3, 5, 4}, false)) {
      c.inputs[2].values = {1, 3};
      auto inputs = makeInputs(c, type), outputs = makeOutputs(c, type);
      const Status status =
          tryRun(device, c.kind, c.attributes, inputs, outputs);
      EXPECT_EQ(status.code(), Code::Failed);
      EXPECT_EQ(status.message(),
                c.kind + " 'node': group 3 of row 1 is out of range, expected "
                         "-3 to 2");
    }
}

} // namespace
} // namespace dlc::test

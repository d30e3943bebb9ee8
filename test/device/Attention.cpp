// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient against plain loops.
#include "AttentionCases.h"
#include "Fixture.h"

#include <limits>

namespace dlc::test {
namespace {

std::vector<plan::DType> types() {
  std::vector<plan::DType> types{plan::BF16, plan::F16};
  if (kAttendsInF32)
    types.push_back(plan::F32);
  return types;
}

// Of `f32` and the two halves.
double toleranceOf(plan::DType type, double f32, double bf16, double f16) {
  return type == plan::F32 ? f32 : type == plan::BF16 ? bf16 : f16;
}

// What hides a key: the compiler gives cuDNN these, not infinities, and of bf16
// not the lowest number, which times log2(e) is infinite.
double lowest(plan::DType type) {
  return toleranceOf(type, std::numeric_limits<float>::lowest(),
                     -std::ldexp(1, 127), -65504);
}

// Some keys hidden; with `blind` all of each head's second query, and its dy is
// zero, as nobody uses its result.
AttentionValues valuesOf(const AttentionShape &s, plan::DType type,
                         bool blind) {
  const Shape q = s.rows(s.queries, s.depth), k = s.rows(s.keys, s.depth),
              v = s.rows(s.keys, s.valueDepth),
              y = s.rows(s.queries, s.valueDepth);
  AttentionValues x;
  x.q = randomValues(count(q), 1);
  x.k = randomValues(count(k), 2);
  x.v = randomValues(count(v), 3);
  x.dy = randomValues(count(y), 4);
  if (s.hasMask())
    x.mask = randomValues(count({s.mask.begin(), s.mask.end()}), 5);
  for (size_t i = 0; i < x.mask.size(); ++i)
    if (const auto query = static_cast<int64_t>(i) / s.keys % s.queries;
        x.mask[i] > 1.5 || (blind && query == 1))
      x.mask[i] = lowest(type);
  for (int64_t i = 0; blind && i < count(y); ++i)
    if ((s.lengthFirst ? i / s.valueDepth / s.heads : i / s.valueDepth) %
            s.queries ==
        1)
      x.dy[i] = 0;
  attentionForward(s, x);
  return x;
}

Case forward(const AttentionShape &s, const AttentionValues &x) {
  Case c{"attention",
         {{"scale", s.scale},
          {"layout", std::string(s.lengthFirst ? "bthd" : "bhtd")},
          {"causal", int64_t(s.causal)},
          {"has_mask", int64_t(s.hasMask())}},
         {{s.rows(s.queries, s.depth), {}, x.q},
          {s.rows(s.keys, s.depth), {}, x.k},
          {s.rows(s.keys, s.valueDepth), {}, x.v}},
         {{s.rows(s.queries, s.valueDepth)},
          {{s.batch, s.heads, s.queries, 1}, plan::F32}}};
  if (s.hasMask())
    c.inputs.push_back({{s.mask.begin(), s.mask.end()},
                        kAttendsInF32 ? plan::F32 : plan::DTYPE_INVALID,
                        x.mask});
  return c;
}

Case backward(const AttentionShape &s, const AttentionValues &x) {
  Case c = forward(s, x);
  c.kind = "attention_backward";
  c.inputs.insert(c.inputs.begin(),
                  {s.rows(s.queries, s.valueDepth), {}, x.dy});
  c.inputs.insert(c.inputs.begin() + 4,
                  {{s.rows(s.queries, s.valueDepth), {}, x.y},
                   {{s.batch, s.heads, s.queries, 1}, plan::F32, x.lse}});
  c.outputs = {{s.rows(s.queries, s.depth)},
               {s.rows(s.keys, s.depth)},
               {s.rows(s.keys, s.valueDepth)}};
  return c;
}

// Relative to the largest, as factors are rounded to halves: weights of keys,
// gradients of scores, y.
void expectNear(const Tensor &found, const std::vector<double> &truth,
                double tolerance, const std::string &what) {
  Tensor wide(plan::F64, {static_cast<int64_t>(truth.size())}, truth);
  EXPECT_LE(relativeError(found, wide), tolerance) << what;
}

class AttentionTest : public testing::TestWithParam<AttentionCase> {
protected:
  const AttentionShape &shape() const { return GetParam().shape; }
  // Of y as it is stored; `blind`: not of the second query of each head.
  void expectGradients(AttentionValues x, plan::DType type,
                       bool blind = false) {
    x.y = Tensor(type, {static_cast<int64_t>(x.y.size())}, x.y).values();
    attentionBackward(shape(), x);
    const double tolerance = toleranceOf(type, 2e-6, 2e-2, 2.5e-3);
    const auto found = runJudged(backward(shape(), x), type, 2);
    if (!found)
      return;
    const std::string in = " in " + plan::DType_Name(type);
    std::vector<double> dq = (*found)[0].values();
    for (size_t i = 0; blind && i < dq.size(); ++i)
      if (const auto row = static_cast<int64_t>(i) / shape().depth;
          (shape().lengthFirst ? row / shape().heads : row) % shape().queries ==
          1)
        dq[i] = x.dq[i];
    expectNear(Tensor(plan::F64, {static_cast<int64_t>(dq.size())}, dq), x.dq,
               tolerance, "dq" + in);
    expectNear((*found)[1], x.dk, tolerance, "dk" + in);
    expectNear((*found)[2], x.dv, tolerance, "dv" + in);
  }
};

TEST_P(AttentionTest, Conforms) {
  for (plan::DType type : types()) {
    const AttentionValues x = valuesOf(shape(), type, false);
    const auto found = runJudged(forward(shape(), x), type, 2);
    if (!found)
      continue;
    const std::string in = " in " + plan::DType_Name(type);
    expectNear((*found)[0], x.y, toleranceOf(type, 2e-6, 1.2e-2, 1.5e-3),
               "y" + in);
    expectNear((*found)[1], x.lse, 1e-5, "lse" + in);
  }
}

TEST_P(AttentionTest, GradientConforms) {
  for (plan::DType type : types())
    expectGradients(valuesOf(shape(), type, false), type);
}

class MaskedAttentionTest : public AttentionTest {};

// What such a query gets is replaced, and so is its gradient, which some
// kernels make NaN; its result must be a number, and keys and values get none
// of it.
TEST_P(MaskedAttentionTest, QueryThatSeesNothingConforms) {
  for (plan::DType type : types()) {
    const AttentionValues x = valuesOf(shape(), type, true);
    const auto found = runJudged(forward(shape(), x), type, 2);
    if (!found)
      continue;
    for (const Tensor &tensor : *found)
      for (const double value : tensor.values())
        ASSERT_TRUE(std::isfinite(value)) << plan::DType_Name(type);
    expectGradients(x, type, true);
  }
}

// The gradient is that of the same softmax, though lse cannot tell its sum from
// the mask's number.
TEST_P(MaskedAttentionTest, GradientOfQueryThatSeesNothingIsExact) {
  if (!kAttendsInF32)
    GTEST_SKIP() << "only of f32";
  AttentionValues x = valuesOf(shape(), plan::F32, true);
  x.dy = randomValues(static_cast<int64_t>(x.dy.size()), 4);
  expectGradients(x, plan::F32);
}

// Queries, keys and values side by side, as thirds of the heads of one tensor.
std::vector<double> joined(const AttentionShape &s,
                           std::array<const std::vector<double> *, 3> parts) {
  const int64_t rows = s.batch * s.queries, row = s.heads * s.depth;
  std::vector<double> joint;
  for (int64_t i = 0; i < rows; ++i)
    for (const auto *part : parts)
      joint.insert(joint.end(), part->begin() + i * row,
                   part->begin() + (i + 1) * row);
  return joint;
}

TEST_P(AttentionTest, JointConforms) {
  const AttentionShape &s = shape();
  if (!s.lengthFirst || s.queries != s.keys)
    GTEST_SKIP() << "no joint projection has these";
  const Shape all = {s.batch, s.queries, 3 * s.heads, s.depth};
  for (plan::DType type : types()) {
    AttentionValues x = valuesOf(s, type, false);
    Case c = forward(s, x);
    const auto joinInputs = [&](size_t first) {
      c.kind = first ? "attention_joint_backward" : "attention_joint";
      c.attributes.erase("layout");
      c.inputs.erase(c.inputs.begin() + ptrdiff_t(first) + 1,
                     c.inputs.begin() + ptrdiff_t(first) + 3);
      c.inputs[first] = {all, {}, joined(s, {&x.q, &x.k, &x.v})};
    };
    joinInputs(0);
    const std::string in = " in " + plan::DType_Name(type);
    if (const auto found = runJudged(c, type, 2))
      expectNear((*found)[0], x.y, toleranceOf(type, 2e-6, 1.2e-2, 1.5e-3),
                 "y" + in);
    x.y = Tensor(type, {static_cast<int64_t>(x.y.size())}, x.y).values();
    attentionBackward(s, x);
    c = backward(s, x);
    joinInputs(1);
    c.outputs = {{all}};
    if (const auto found = runJudged(c, type, 2))
      expectNear((*found)[0], joined(s, {&x.dq, &x.dk, &x.dv}),
                 toleranceOf(type, 2e-6, 2e-2, 2.5e-3), "dqkv" + in);
  }
}

TEST_P(AttentionTest, SameBitsWithAnyNumberOfThreads) {
  if (!kAttendsInF32)
    GTEST_SKIP() << "a GPU has no threads of the host";
  const AttentionValues x = valuesOf(shape(), plan::F32, false);
  for (plan::DType type : types()) {
    expectThreadInvariant(forward(shape(), x), type);
    expectThreadInvariant(backward(shape(), x), type);
  }
}

// No other query and no key hides it.
TEST(CpuAttention, NanStaysNan) {
  if (!kAttendsInF32)
    GTEST_SKIP() << "a library may do otherwise";
  AttentionShape s{1, 1, 70, 70, 8, 8, true, false, 0.5, {}};
  AttentionValues x = valuesOf(s, plan::F32, false);
  for (int64_t query : {0, 50}) {
    AttentionValues one = x;
    one.q[static_cast<size_t>(query * s.depth)] = NAN;
    const auto found = run(forward(s, one), plan::F32, 1);
    for (int64_t i = 0; i < s.queries; ++i) {
      EXPECT_EQ(i == query, std::isnan(found[0][i * s.valueDepth])) << i;
      EXPECT_EQ(i == query, std::isnan(found[1][i])) << i;
    }
  }
}

TEST(CpuAttention, NothingToDo) {
  if (!kAttendsInF32)
    GTEST_SKIP() << "cuDNN has no such tensors";
  for (const auto &[batch, queries, keys] :
       {std::array<int64_t, 3>{0, 4, 4}, {1, 0, 4}, {1, 4, 0}}) {
    AttentionShape s{batch, 2, queries, keys, 8, 8, false, false, 1, {}};
    AttentionValues x = valuesOf(s, plan::F32, false);
    for (const Tensor &tensor : run(backward(s, x), plan::F32, 2))
      for (double value : tensor.values())
        EXPECT_EQ(value, 0);
    const auto found = run(forward(s, x), plan::F32, 2);
    for (double value : found[0].values())
      EXPECT_EQ(value, 0);
    for (double value : found[1].values())
      EXPECT_EQ(value, std::numeric_limits<double>::infinity());
  }
}

std::vector<AttentionCase> maskedCases() {
  std::vector<AttentionCase> cases = attentionCases();
  std::erase_if(cases, [](auto &c) { return !c.shape.hasMask(); });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         testing::ValuesIn(attentionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Shapes, MaskedAttentionTest,
                         testing::ValuesIn(maskedCases()), nameOf);

} // namespace
} // namespace dlc::test

// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"

namespace dlc::test {
namespace {

using plan::I64;

Case gatherCase(const Shape &data, int64_t axis, const Shape &indexShape,
                const std::vector<double> &indices, const Shape &y) {
  return {
      "gather", {{"axis", axis}}, {{data}, {indexShape, I64, indices}}, {{y}}};
}

TEST(Gather, RowsOfATable) {
  const auto y = run(gatherCase({3, 2}, 0, {2, 2}, {2, 0, -1, -3}, {2, 2, 2}),
                     plan::F32, 2);
  const auto t = randomValues(6, 1);
  EXPECT_EQ(y[0].values(), (std::vector<double>{t[4], t[5], t[0], t[1], t[4],
                                                t[5], t[0], t[1]}));
}

TEST(Gather, InnerAxisAndEveryType) {
  const Case c = gatherCase({2, 3, 2}, 1, {}, {1}, {2, 2});
  const auto t = randomValues(12, 1);
  for (auto type : {plan::F32, plan::F16, plan::BF16, plan::F64})
    EXPECT_EQ(run(c, type, 1)[0].values(),
              (std::vector<double>{t[2], t[3], t[8], t[9]}));
}

TEST(Gather, ManyRowsOnManyThreads) {
  std::vector<double> indices(5000);
  for (size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<double>(i * 7 % 11);
  expectThreadInvariant(gatherCase({11, 64}, 0, {5000}, indices, {5000, 64}),
                        plan::F32);
}

TEST(Gather, IndexOutOfRangeIsAnErrorOfTheStep) {
  for (double index : {3.0, -4.0}) {
    CpuDevice device(1);
    const Case c = gatherCase({3, 2}, 0, {2}, {1, index}, {2, 2});
    auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
    const Status status = tryRun(device, c.kind, c.attributes, inputs, outputs);
    EXPECT_EQ(status.code(), Code::Failed);
    EXPECT_EQ(status.message(),
              fmt::format("gather 'node': index {} at position 1 is out of "
                          "range, expected -3 to 2",
                          static_cast<int>(index)));
  }
}

Case scatterCase(const Shape &updates, int64_t axis, const Shape &indexShape,
                 const std::vector<double> &indices, const Shape &y,
                 plan::DType result = plan::DTYPE_INVALID) {
  return {"scatter_add",
          {{"axis", axis}},
          {{indexShape, I64, indices}, {updates}},
          {{y, result}}};
}

TEST(ScatterAdd, AddsEveryOccurrence) {
  const auto u = randomValues(6, 2);
  const auto y =
      run(scatterCase({3, 2}, 0, {3}, {1, -1, 1}, {3, 2}), plan::F64, 1);
  EXPECT_EQ(y[0].values(),
            (std::vector<double>{0, 0, u[0] + u[4], u[1] + u[5], u[2], u[3]}));
}

TEST(ScatterAdd, Conforms) {
  std::vector<double> indices(300);
  for (size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<double>(i * i % 13) - 6;
  const Case same = scatterCase({2, 300, 70}, 1, {300}, indices, {2, 13, 70});
  expectConforms(same);
  expectConforms(
      scatterCase({2, 300, 70}, 1, {300}, indices, {2, 13, 70}, plan::F32),
      2e-6, 2e-6);
  for (auto type : {plan::F32, plan::F16, plan::BF16})
    expectThreadInvariant(same, type);
}

TEST(ScatterAdd, IsTheGradientOfGather) {
  const std::vector<double> indices = {2, 0, -1, 2, 1};
  const auto dy = randomValues(2 * 5 * 3, 5);
  const auto dx = run({"scatter_add",
                       {{"axis", int64_t(1)}},
                       {{{5}, I64, indices}, {{2, 5, 3}, {}, dy}},
                       {{{2, 4, 3}}}},
                      plan::F64, 1);
  expectIsGradient(gatherCase({2, 4, 3}, 1, {5}, indices, {2, 5, 3}), 0, 0, dy,
                   dx[0].values());
}

TEST(ScatterAdd, NoUpdatesGiveZeros) {
  const auto y = run(scatterCase({0, 2}, 0, {0}, {}, {3, 2}), plan::F32, 2);
  EXPECT_EQ(y[0].values(), std::vector<double>(6, 0.0));
}

TEST(ScatterAdd, IndexOutOfRangeIsAnErrorOfTheStep) {
  CpuDevice device(1);
  const Case c = scatterCase({1, 2}, 0, {1}, {3}, {3, 2});
  auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
  const Status status = tryRun(device, c.kind, c.attributes, inputs, outputs);
  EXPECT_EQ(status.code(), Code::Failed);
  EXPECT_NE(status.message().find("scatter_add 'node': index 3"),
            std::string::npos);
}

Case uniqueCase(const Shape &updates, const std::vector<double> &indices,
                int64_t size) {
  const Shape rows = {static_cast<int64_t>(indices.size())};
  return {"unique_rows",
          {{"size", size}},
          {{rows, I64, indices}, {updates}},
          {{rows, I64}, {updates}}};
}

TEST(UniqueRows, SortsAndSums) {
  const auto u = randomValues(10, 2);
  const auto y = run(uniqueCase({5, 2}, {4, 1, -1, 5, 0}, 5), plan::F32, 2);
  EXPECT_EQ(y[0].values(), (std::vector<double>{0, 1, 4, 5, 5}));
  EXPECT_EQ(y[1].values(),
            (std::vector<double>{u[8], u[9], u[2], u[3], u[0] + u[4],
                                 u[1] + u[5], 0, 0, 0, 0}));
}

// The same bits: sums in the order of the updates, rounded once.
TEST(UniqueRows, IsWhatScatterAddHas) {
  constexpr int64_t kSize = 5000, kCount = 3000, kWidth = 70;
  std::vector<double> indices(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    indices[i] = static_cast<double>(i % 3 ? i * i % kSize : 7);
  const Case rows = uniqueCase({kCount, kWidth}, indices, kSize);
  for (auto type : {plan::F32, plan::F16, plan::BF16, plan::F64}) {
    const auto found = run(rows, type, 2);
    const auto whole = run(
        scatterCase({kCount, kWidth}, 0, {kCount}, indices, {kSize, kWidth}),
        type, 2);
    std::vector<double> again(kSize * kWidth, 0);
    for (int64_t i = 0; i < kCount; ++i) {
      const auto row = static_cast<int64_t>(found[0][i]);
      if (i > 0) {
        EXPECT_TRUE(row > found[0][i - 1] || row == kSize);
      }
      for (int64_t c = 0; c < kWidth; ++c)
        if (row < kSize)
          again[row * kWidth + c] = found[1][i * kWidth + c];
        else
          ASSERT_EQ(found[1][i * kWidth + c], 0);
    }
    EXPECT_EQ(again, whole[0].values());
    if (type != plan::F64)
      expectThreadInvariant(rows, type);
  }
}

TEST(UniqueRows, IndexOutOfRangeIsAnErrorOfTheStep) {
  for (double index : {6.0, -6.0}) {
    CpuDevice device(1);
    const Case c = uniqueCase({1, 2}, {index}, 5);
    auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
    const Status status = tryRun(device, c.kind, c.attributes, inputs, outputs);
    EXPECT_EQ(status.code(), Code::Failed);
    EXPECT_EQ(status.message(),
              fmt::format("unique_rows 'node': index {} at position 0 is out "
                          "of range, expected -5 to 4",
                          static_cast<int>(index)));
  }
}

TEST(UniqueRows, WantsASize) {
  CpuDevice device(1);
  const Case c = uniqueCase({1, 2}, {0}, 0);
  auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
  EXPECT_EQ(tryRun(device, c.kind, c.attributes, inputs, outputs).code(),
            Code::Corrupt);
}

Case putCase(const std::vector<double> &rows) {
  const auto n = static_cast<int64_t>(rows.size());
  return {"put_rows", {}, {{{4, 2}}, {{n}, I64, rows}, {{n, 2}}}, {{{4, 2}}}};
}

TEST(PutRows, ReplacesThem) {
  const auto x = randomValues(8, 1), v = randomValues(6, 3);
  for (auto type : {plan::F32, plan::F16, plan::BF16, plan::F64})
    EXPECT_EQ(
        run(putCase({2, 0, 4}), type, 2)[0].values(),
        (std::vector<double>{v[2], v[3], x[2], x[3], v[0], v[1], x[6], x[7]}));
}

TEST(PutRows, NegativeNumbersAreNone) {
  CpuDevice device(1);
  const Case c = putCase({-1});
  auto inputs = makeInputs(c, plan::F32), outputs = makeOutputs(c, plan::F32);
  EXPECT_EQ(tryRun(device, c.kind, c.attributes, inputs, outputs).code(),
            Code::Failed);
}

} // namespace
} // namespace dlc::test

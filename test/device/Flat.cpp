// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"

#include <limits>

namespace dlc::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr auto kTypes = {plan::F32, plan::F16, plan::BF16, plan::F64};

// Sizes of the operands of one command: empty, single, primes, more than a
// chunk, chunks that end inside an operand, many operands in a chunk.
const std::vector<std::vector<int64_t>> kSizes = {
    {0},
    {1},
    {7},
    {0, 0},
    {16384},
    {16411},
    {3, 0, 131},
    {16381, 1, 0, 2, 32771},
    {100003, 13},
    {13, 100003},
    {5, 7, 11, 13, 17, 19, 23},
};

Case flatCase(const std::string &kind, const std::vector<int64_t> &sizes) {
  Case c{kind, {}, {}, {{{}, kind == "all_finite" ? plan::BOOL : plan::F32}}};
  for (int64_t size : sizes)
    c.inputs.push_back({{size}});
  return c;
}

double runOn(const Case &c, std::vector<Tensor> &inputs, plan::DType type,
             int threads = 3) {
  CpuDevice device(threads);
  auto outputs = makeOutputs(c, type);
  const Status status = tryRun(device, c.kind, {}, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs[0][0];
}

TEST(AllFinite, FiniteValues) {
  for (auto type : kTypes)
    for (const auto &sizes : kSizes)
      EXPECT_EQ(run(flatCase("all_finite", sizes), type, 2)[0][0], 1);
}

TEST(AllFinite, FindsOneAnywhere) {
  for (auto type : kTypes)
    for (const auto &sizes : kSizes) {
      const Case c = flatCase("all_finite", sizes);
      auto inputs = makeInputs(c, type);
      for (Tensor &x : inputs)
        for (int64_t at = 0; at < x.size(); at += 1 + x.size() / 29)
          for (int64_t i : {at, x.size() - 1 - at})
            for (double bad : {kInf, -kInf, kNan, -kNan}) {
              const double value = x[i];
              x.set(i, bad);
              ASSERT_EQ(runOn(c, inputs, type), 0)
                  << bad << " at " << i << " of " << x.size();
              x.set(i, value);
            }
      EXPECT_EQ(runOn(c, inputs, type), 1);
    }
}

TEST(AllFinite, ExtremesAreFinite) {
  const auto extremes = [](auto limits, double largest) {
    return std::vector<double>{
        largest, -largest, limits.min(), limits.denorm_min(), 0.0, -0.0};
  };
  const std::numeric_limits<float> f32;
  const std::numeric_limits<double> f64;
  const Case c = flatCase("all_finite", {6});
  for (auto [type, values] :
       {std::pair(plan::F32, extremes(f32, f32.max())),
        std::pair(plan::BF16, extremes(f32, 0x1.fep127)),
        std::pair(plan::F16, std::vector<double>{65504, -65504, 0x1p-14,
                                                 0x1p-24, 0.0, -0.0}),
        std::pair(plan::F64, extremes(f64, f64.max()))}) {
    std::vector<Tensor> inputs;
    inputs.emplace_back(type, Shape{6}, values);
    EXPECT_EQ(runOn(c, inputs, type), 1) << plan::DType_Name(type);
  }
}

TEST(GlobalNorm, IsTheRootOfTheSumOfSquares) {
  for (auto type : kTypes)
    for (const auto &sizes : kSizes) {
      const Case c = flatCase("global_norm", sizes);
      double sum = 0; // exact: multiples of 1/256
      for (const Tensor &x : makeInputs(c, type))
        for (double value : x.values())
          sum += value * value;
      const double norm = std::sqrt(sum);
      EXPECT_EQ(run(c, type, 2)[0][0],
                type == plan::F64 ? norm : static_cast<float>(norm));
    }
}

TEST(GlobalNorm, SquaresNeitherOverflowNorVanish) {
  for (auto type : {plan::F32, plan::BF16})
    for (double size : {0x1p100, 0x1p-100}) {
      std::vector<Tensor> inputs;
      inputs.emplace_back(type, Shape{16}, std::vector<double>(16, size));
      EXPECT_EQ(runOn(flatCase("global_norm", {16}), inputs, type), 4 * size);
    }
}

TEST(GlobalNorm, InfinityAndNanReachTheResult) {
  const Case c = flatCase("global_norm", {5, 40009});
  for (auto type : kTypes)
    for (int64_t at : {0, 16380, 40008}) {
      auto inputs = makeInputs(c, type);
      inputs[1].set(at, -kInf);
      EXPECT_EQ(runOn(c, inputs, type), kInf);
      inputs[0].set(3, kNan);
      EXPECT_TRUE(std::isnan(runOn(c, inputs, type)));
    }
}

TEST(GlobalNorm, OfClampedElements) {
  const Attributes limit{{"limit", 0.5}};
  for (auto type : kTypes)
    for (const auto &sizes : kSizes) {
      const Case c = flatCase("global_norm", sizes);
      auto inputs = makeInputs(c, type);
      double sum = 0; // exact: multiples of 1/256
      for (const Tensor &x : inputs)
        for (double value : x.values())
          sum += std::min(value * value, 0.25);
      CpuDevice device(2);
      std::vector<Tensor> outputs;
      outputs.emplace_back(plan::F64, Shape{});
      const Status status = tryRun(device, c.kind, limit, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(outputs[0][0], std::sqrt(sum));
    }
  CpuDevice device(1);
  std::vector<Tensor> inputs, y;
  inputs.emplace_back(plan::F32, Shape{3},
                      std::vector<double>{kInf, -kInf, 0.25});
  y.emplace_back(plan::F32, Shape{});
  EXPECT_TRUE(tryRun(device, "global_norm", limit, inputs, y).ok());
  EXPECT_EQ(y[0][0], 0.75);
  inputs[0].set(1, kNan);
  EXPECT_TRUE(tryRun(device, "global_norm", limit, inputs, y).ok());
  EXPECT_TRUE(std::isnan(y[0][0]));
  EXPECT_EQ(
      tryRun(device, "global_norm", {{"limit", -1.0}}, inputs, y).message(),
      "global_norm 'node': its limit is -1");
}

TEST(GlobalNorm, SameBitsOnAnyThreads) {
  Case c = flatCase("global_norm", {100003, 1, 0, 70001});
  for (Case::Slot &slot : c.inputs) { // sums of these are rounded
    slot.values.resize(count(slot.shape));
    for (size_t i = 0; i < slot.values.size(); ++i)
      slot.values[i] = std::sin(static_cast<double>(i)) * 1e3;
  }
  for (auto type : kTypes)
    expectThreadInvariant(c, type);
}

TEST(GlobalNorm, OperandsOfSeveralTypes) {
  const Case c = flatCase("global_norm", {1, 1});
  std::vector<Tensor> inputs;
  inputs.emplace_back(plan::F32, Shape{1}, std::vector<double>{3});
  inputs.emplace_back(plan::BF16, Shape{1}, std::vector<double>{-4});
  EXPECT_EQ(runOn(c, inputs, plan::F32), 5);
}

TEST(GlobalNorm, ResultIsAFloatScalar) {
  CpuDevice device(1);
  std::vector<Tensor> inputs, integer, vector;
  inputs.emplace_back(plan::F32, Shape{2});
  integer.emplace_back(plan::I64, Shape{});
  vector.emplace_back(plan::F32, Shape{1});
  EXPECT_EQ(tryRun(device, "global_norm", {}, inputs, integer).message(),
            "global_norm 'node': the element type of y is i64, expected f32 "
            "or f64");
  EXPECT_EQ(tryRun(device, "global_norm", {}, inputs, vector).message(),
            "global_norm 'node': the shape of y is [1], expected []");
}

// --- sums of parts ---

// What ranks with parts of x make together: sums of each one's, added as
// integers.
double ofParts(const std::string &sum, const std::string &result, int64_t words,
               const Tensor &x, plan::DType type, plan::DType of,
               const std::vector<int64_t> &ends) {
  CpuDevice device(2);
  std::vector<Tensor> all, y;
  all.emplace_back(plan::I64, Shape{words}, std::vector<double>(words, 0));
  int64_t begin = 0;
  for (int64_t end : ends) {
    std::vector<Tensor> part, own;
    std::vector<double> values;
    for (int64_t i = begin; i < end; ++i)
      values.push_back(x[i]);
    part.emplace_back(type, Shape{end - begin}, values);
    own.emplace_back(plan::I64, Shape{words});
    const Status status = tryRun(device, sum, {}, part, own);
    EXPECT_TRUE(status.ok()) << status.message();
    for (int64_t i = 0; i < words; ++i)
      all[0].set(i, all[0][i] + own[0][i]);
    begin = end;
  }
  y.emplace_back(of, Shape{});
  const Status status = tryRun(device, result, {}, all, y);
  EXPECT_TRUE(status.ok()) << status.message();
  return y[0][0];
}

// The same bits as of the whole, where parts are whole sixteens.
TEST(GlobalNorm, OfPartsIsThatOfTheWhole) {
  Case c = flatCase("global_norm", {40013});
  c.inputs[0].values.resize(40013);
  for (size_t i = 0; i < c.inputs[0].values.size(); ++i)
    c.inputs[0].values[i] =
        std::ldexp(std::sin(static_cast<double>(i)), int(i * 7 % 60) - 30);
  for (auto type : {plan::F32, plan::BF16, plan::F64}) {
    auto inputs = makeInputs(c, type);
    const double whole = runOn(c, inputs, type);
    for (const std::vector<int64_t> &ends : {std::vector<int64_t>{40013},
                                             {16, 40013},
                                             {0, 16000, 16000, 40013},
                                             {20480, 30720, 40013}})
      EXPECT_EQ(ofParts("square_sums", "norm_of_squares", 69, inputs[0], type,
                        type == plan::F64 ? plan::F64 : plan::F32, ends),
                whole);
    inputs[0].set(30000, kInf);
    EXPECT_EQ(ofParts("square_sums", "norm_of_squares", 69, inputs[0], type,
                      plan::F32, {16, 40013}),
              kInf);
  }
}

TEST(AllFinite, OfParts) {
  Tensor x(plan::F32, Shape{64}, std::vector<double>(64, 1));
  const auto result = [&] {
    return ofParts("count_nonfinite", "none_counted", 1, x, plan::F32,
                   plan::BOOL, {16, 16, 64});
  };
  EXPECT_EQ(result(), 1);
  x.set(40, kNan);
  EXPECT_EQ(result(), 0);
}

TEST(GlobalNorm, SumsAreIntegers) {
  CpuDevice device(1);
  std::vector<Tensor> inputs, few;
  inputs.emplace_back(plan::F32, Shape{2});
  few.emplace_back(plan::I64, Shape{68});
  EXPECT_EQ(tryRun(device, "square_sums", {}, inputs, few).message(),
            "square_sums 'node': the shape of the sum is [68], expected [69]");
  EXPECT_EQ(tryRun(device, "norm_of_squares", {}, inputs, few).message(),
            "norm_of_squares 'node': the element type of the sum is f32, "
            "expected i64");
}

TEST(AllFinite, ResultIsABoolScalar) {
  CpuDevice device(1);
  std::vector<Tensor> inputs, outputs;
  inputs.emplace_back(plan::F32, Shape{2});
  outputs.emplace_back(plan::F32, Shape{});
  EXPECT_EQ(tryRun(device, "all_finite", {}, inputs, outputs).code(),
            Code::Incompatible);
}

} // namespace
} // namespace dlc::test

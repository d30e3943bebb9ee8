// SPDX-License-Identifier: Apache-2.0
// f16 as the CPU emulates it: computed in f32, rounded once, beyond 65504
// infinite.
#include "Fixture.h"

#include "runtime/device/cpu/kernels/HalfLoops.h"

namespace dlc::test {
namespace {

std::vector<F16> narrowAll(const std::vector<float> &values) {
  std::vector<F16> halfs(values.size());
  narrow(values.data(), halfs.data(), 0, static_cast<int64_t>(values.size()));
  return halfs;
}

TEST(Half, WidensEveryNumber) {
  std::vector<F16> halfs(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits)
    halfs[bits].bits = static_cast<uint16_t>(bits);
  std::vector<float> wide(65536);
  widen(halfs.data(), wide.data(), 0, 65536);
  const auto back = narrowAll(wide);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float expected = fromF16(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide[bits])) << bits;
      ASSERT_TRUE(std::isnan(fromF16(back[bits].bits))) << bits;
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[bits]),
              std::bit_cast<uint32_t>(expected))
        << bits;
    ASSERT_EQ(back[bits].bits, bits);
  }
}

// Between all neighbours: the middle, and the f32 next to it on either side.
TEST(Half, RoundsTiesToEven) {
  std::vector<float> values;
  for (uint16_t bits = 0; bits < 0x7bff; ++bits)
    for (float sign : {1.0f, -1.0f}) {
      const float low = fromF16(bits), high = fromF16(bits + 1);
      const float middle = low + (high - low) / 2;
      for (float v :
           {std::nextafter(middle, low), middle, std::nextafter(middle, high)})
        values.push_back(sign * v);
    }
  for (float v : {65519.996f, 65520.0f, 1e5f, 1e30f, INFINITY})
    values.insert(values.end(), {v, -v});
  const auto found = narrowAll(values);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(found[i].bits,
              std::bit_cast<uint16_t>(static_cast<_Float16>(values[i])))
        << values[i];
}

// y = a b of a row and a column.
double dot(std::vector<double> a, std::vector<double> b) {
  const int64_t n = static_cast<int64_t>(a.size());
  return run({"matmul", {}, {{{1, n}, {}, a}, {{n, 1}, {}, b}}, {{{1, 1}}}},
             plan::F16, 1)[0][0];
}

TEST(Half, ProductsAreRoundedOnce) {
  EXPECT_EQ(dot({2048, 1}, {1, 1}), 2048); // a tie, down to even
  EXPECT_EQ(dot({2048, 3}, {1, 1}), 2052); // a tie, up to even
  // Each product alone would be rounded away.
  EXPECT_EQ(dot({2048, 1, 1}, {1, 1, 1}), 2050);
  EXPECT_EQ(dot({0x1p-13, 0}, {0x1p-11, 0}), 0x1p-24); // the least subnormal
  EXPECT_EQ(dot({0x1p-13, 0}, {0x1p-12, 0}), 0);       // a tie with 0
  EXPECT_EQ(dot({0x1.8p-13, 0}, {0x1p-12, 0}), 0x1p-24);
}

TEST(Half, SumsOverflowWhenStored) {
  EXPECT_EQ(dot({65504, 15}, {1, 1}), 65504);
  EXPECT_EQ(dot({65504, 16}, {1, 1}), kInf);
  EXPECT_EQ(dot({-300, 0}, {300, 0}), -kInf);
  EXPECT_EQ(dot({60000, 60000, -60000}, {1, 1, 1}), 60000);
}

// A sum in every kind that can be larger than its operands.
TEST(Half, EveryKindOverflowsToInfinity) {
  const Shape one{1, 1, 1, 1}, two{1, 1, 1, 2};
  const Case::Slot large{one, {}, {300}}, pair{{2, 1}, {}, {60000, 60000}};
  const auto channel = [](double value) {
    return Case::Slot{{1}, plan::F32, {value}};
  };
  const std::vector<Case> cases = {
      {"matmul", {}, {{{1, 1}, {}, {300}}, {{1, 1}, {}, {300}}}, {{{1, 1}}}},
      {"conv", {}, {large, large}, {{one}}},
      {"conv_backward_data", {}, {large, large}, {{one}}},
      {"conv_backward_filter", {}, {large, large}, {{one}}},
      {"batch_norm",
       {},
       {{{2, 1}, {}, {1, 3}}, channel(1e5), channel(0), channel(0), channel(1)},
       {{{2, 1}}, channel(0), channel(0), channel(0), channel(0)}},
      {"batch_norm_backward",
       {},
       {{{2, 1}, {}, {2, 3}},
        {{2, 1}, {}, {1, 1}},
        channel(1e9),
        channel(1),
        channel(1)},
       {{{2, 1}}, channel(0), channel(0)}},
      {"scatter_add", {}, {{{2}, plan::I64, {0, 0}}, pair}, {{{1, 1}}}},
      // Both windows of 1x2 on three columns have their maximum in the middle.
      {"max_pool_backward",
       {{"kernel", Shape{1, 2}}},
       {{two, {}, {40000, 40000}}, {two, plan::U8, {1, 0}}},
       {{{1, 1, 1, 3}}}},
  };
  for (const Case &c : cases)
    for (auto [type, overflows] :
         {std::pair(plan::F16, true), std::pair(plan::F32, false)}) {
      const auto values = run(c, type, 1)[0].values();
      const bool found = std::any_of(values.begin(), values.end(),
                                     [](double x) { return std::isinf(x); });
      EXPECT_EQ(found, overflows) << c.kind << plan::DType_Name(type);
    }
}

} // namespace
} // namespace dlc::test

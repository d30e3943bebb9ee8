// SPDX-License-Identifier: Apache-2.0
// Nothing is allocated when a bound command runs.
#include "AllocationCounter.h"
#include "Fixture.h"

namespace dlc::test {
namespace {

// Every kind, in a shape that goes through its library or its threads.
const std::vector<Case> &cases() {
  const Case::Slot channel{{16}, plan::F32};
  const Shape x{4, 12, 12, 16}, w{16, 16, 3, 3};
  const Attributes conv = {{"layout", std::string("nhwc")},
                           {"pads", Shape{1, 1, 1, 1}}};
  const Attributes nchw = {{"pads", Shape{1, 1, 1, 1}}};
  const Attributes pool = {{"kernel", Shape{2, 2}},
                           {"layout", std::string("nhwc")},
                           {"strides", Shape{2, 2}}};
  const Shape half{4, 6, 6, 16};
  static const std::vector<Case> all = {
      {"matmul", {}, {{{64, 96}}, {{96, 64}}}, {{{64, 64}}}},
      {"conv", conv, {{x}, {w}}, {{x}}},
      {"conv_backward_data", conv, {{x}, {w}}, {{x}}},
      {"conv_backward_filter", conv, {{x}, {x}}, {{w}}},
      {"conv", nchw, {{{4, 6, 12, 12}}, {{8, 6, 3, 3}}}, {{{4, 8, 12, 12}}}},
      {"max_pool", pool, {{x}}, {{half}, {half, plan::U8}}},
      {"max_pool_backward", pool, {{half}, {half, plan::U8}}, {{x}}},
      {"avg_pool", pool, {{x}}, {{half}}},
      {"avg_pool_backward", pool, {{half}}, {{x}}},
      {"batch_norm",
       conv,
       {{x}, channel, channel, channel, channel},
       {{x}, channel, channel, channel, channel}},
      {"batch_norm_backward",
       conv,
       {{x}, {x}, channel, channel, channel},
       {{x}, channel, channel}},
      {"gather",
       {},
       {{{7, 64}}, {{500}, plan::I64, std::vector<double>(500, 3)}},
       {{{500, 64}}}},
      {"scatter_add",
       {},
       {{{500}, plan::I64, std::vector<double>(500, 3)}, {{500, 64}}},
       {{{7, 64}}}},
      {"grouped_matmul",
       {},
       {{{500, 64}},
        {{7, 64, 48}},
        {{500}, plan::I64, std::vector<double>(500, 3)}},
       {{{500, 48}}}},
      {"grouped_matmul_backward_weight",
       {},
       {{{500, 64}},
        {{500, 48}},
        {{500}, plan::I64, std::vector<double>(500, 3)}},
       {{{7, 64, 48}}}},
      {"unique_rows",
       {{"size", int64_t(9)}},
       {{{500}, plan::I64, std::vector<double>(500, 3)}, {{500, 64}}},
       {{{500}, plan::I64}, {{500, 64}}}},
      {"put_rows",
       {},
       {{{7, 64}}, {{1}, plan::I64, {3}}, {{1, 64}}},
       {{{7, 64}}}},
      {"orthogonalize", {}, {{{500, 8}}}, {{{500, 8}}}},
      {"copy", {}, {{{500, 64}}}, {{{500, 64}}}},
      {"all_finite", {}, {{{500, 64}}, {{7}}}, {{{}, plan::BOOL}}},
      {"global_norm", {}, {{{500, 64}}, {{7}}}, {{{}, plan::F32}}},
      {"square_sums", {}, {{{500, 64}}, {{7}}}, {{{69}, plan::I64}}},
      {"norm_of_squares", {}, {{{69}, plan::I64}}, {{{}, plan::F32}}},
      {"count_nonfinite", {}, {{{500, 64}}, {{7}}}, {{{1}, plan::I64}}},
      {"none_counted", {}, {{{1}, plan::I64}}, {{{}, plan::BOOL}}},
  };
  return all;
}

TEST(Allocation, NoneInABoundCommand) {
  if (!AllocationCounter::available())
    GTEST_SKIP() << "the allocator is the sanitizer's";
  CpuDevice device(2);
  ASSERT_TRUE(device.makeCurrent().ok());
  // Without AVX-512 oneDNN's products allocate what they pack.
  const size_t most = __builtin_cpu_supports("avx512f") ? 512 : 64 << 10;
  for (auto type : {plan::F32, plan::F16, plan::BF16})
    for (const Case &c : cases()) {
      auto inputs = makeInputs(c, type), outputs = makeOutputs(c, type);
      const plan::Command command = makeCommand(c.kind, c.attributes);
      const CommandSpec spec = specOf(command, inputs, outputs);
      auto bound = device.bind(spec);
      ASSERT_TRUE(bound.ok()) << bound.status().message();
      ASSERT_TRUE((*bound)->enqueue().ok());
      AllocationCounter counter;
      ASSERT_TRUE((*bound)->enqueue().ok());
      EXPECT_EQ(counter.ours(), 0) << c.kind;
      EXPECT_LE(counter.largestOfLibrary(), most) << c.kind;
    }
}

// The counter counts: a test that cannot fail would be worth nothing.
TEST(Allocation, CounterCounts) {
  if (!AllocationCounter::available())
    GTEST_SKIP() << "the allocator is the sanitizer's";
  AllocationCounter counter;
  delete new std::vector<int>(100);
  EXPECT_EQ(counter.ours(), 2);
}

} // namespace
} // namespace dlc::test

// SPDX-License-Identifier: Apache-2.0
// Views and index arithmetic: broadcast, reshape, transpose, slice, pad,
// concat, iota, constants.
#include "Kernels.h"
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

double identity(int64_t i) { return (double)i; }

/// Runs @k of `body` on x = 0, 1, 2 ... and expects y[i] = want(i).
void expectKernel(const std::string &body, Array x, Array y,
                  const std::function<double(int64_t)> &want) {
  Kernels kernels(module("exec.kernel @k {\n" + body + "}\n"));
  kernels.run("k", {&x}, {&y});
  for (int64_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(y.get(i), want(i)) << "element " << i << " of\n" << body;
}

} // namespace

TEST(Index, BroadcastOfLowerRankScalarAndMiddle) {
  Kernels kernels(module(R"(
    exec.kernel @k {
    ^bb0(%x: tensor<7x1x11xf32>, %c: tensor<5x1xf32>, %s: tensor<f32>):
      %a = dlc.add %x, %c : (tensor<7x1x11xf32>, tensor<5x1xf32>) -> tensor<7x5x11xf32>
      %b = dlc.mul %a, %s : (tensor<7x5x11xf32>, tensor<f32>) -> tensor<7x5x11xf32>
      dlc.yield %b : tensor<7x5x11xf32>
    })"));
  Array x("f32", {7, 1, 11}, identity),
      c("f32", {5, 1}, [](int64_t i) { return 1000 * i; });
  Array s("f32", {}, [](int64_t) { return 2; }), y("f32", {7, 5, 11});
  kernels.run("k", {&x, &c, &s}, {&y});
  for (int64_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(y.get(i), 2 * (i / 55 * 11 + i % 11 + 1000 * (i / 11 % 5))) << i;
}

TEST(Index, BroadcastOp) {
  expectKernel(R"(^bb0(%x: tensor<3x1xi64>):
    %y = dlc.broadcast %x : (tensor<3x1xi64>) -> tensor<2x3x4xi64>
    dlc.yield %y : tensor<2x3x4xi64>
  )",
               Array("i64", {3, 1}, identity), Array("i64", {2, 3, 4}),
               [](int64_t i) { return i / 4 % 3; });
}

TEST(Index, TransposeOfOddShape) {
  expectKernel(R"(^bb0(%x: tensor<5x7x13xf32>):
    %y = dlc.transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<5x7x13xf32>) -> tensor<13x5x7xf32>
    dlc.yield %y : tensor<13x5x7xf32>
  )",
               Array("f32", {5, 7, 13}, identity), Array("f32", {13, 5, 7}),
               [](int64_t i) { return i % 35 * 13 + i / 35; });
}

TEST(Index, BigTransposeNchwToNhwc) {
  expectKernel(
      R"(^bb0(%x: tensor<2x48x33x31xbf16>):
    %y = dlc.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x48x33x31xbf16>) -> tensor<2x33x31x48xbf16>
    dlc.yield %y : tensor<2x33x31x48xbf16>
  )",
      Array("bf16", {2, 48, 33, 31}, [](int64_t i) { return i % 251; }),
      Array("bf16", {2, 33, 31, 48}), [](int64_t i) {
        int64_t c = i % 48, p = i / 48 % 1023, n = i / 48 / 1023;
        return ((n * 48 + c) * 1023 + p) % 251;
      });
}

TEST(Index, SliceWithStepsAlsoNegative) {
  expectKernel(
      R"(^bb0(%x: tensor<9x10xi32>):
    %y = dlc.slice %x {starts = array<i64: 8, 1>, sizes = array<i64: 4, 3>, steps = array<i64: -2, 3>} : (tensor<9x10xi32>) -> tensor<4x3xi32>
    dlc.yield %y : tensor<4x3xi32>
  )",
      Array("i32", {9, 10}, identity), Array("i32", {4, 3}),
      [](int64_t i) { return (8 - 2 * (i / 3)) * 10 + 1 + 3 * (i % 3); });
}

TEST(Index, PadWithInterior) {
  expectKernel(R"(^bb0(%x: tensor<3x4xf32>):
    %y = dlc.pad %x {low = array<i64: 1, 2>, high = array<i64: 0, 1>, interior = array<i64: 2, 0>, value = -5.0 : f64} : (tensor<3x4xf32>) -> tensor<8x7xf32>
    dlc.yield %y : tensor<8x7xf32>
  )",
               Array("f32", {3, 4}, identity), Array("f32", {8, 7}),
               [](int64_t i) {
                 int64_t r = i / 7 - 1, c = i % 7 - 2;
                 bool inside = r >= 0 && r % 3 == 0 && c >= 0 && c < 4;
                 return inside ? r / 3 * 4 + c : -5;
               });
}

TEST(Index, PadOfSingleRowDoesNotReadOutside) {
  expectKernel(R"(^bb0(%x: tensor<3x1xf32>):
    %y = dlc.pad %x {low = array<i64: 1, 5>, high = array<i64: 1, 9>, interior = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<3x1xf32>) -> tensor<5x15xf32>
    dlc.yield %y : tensor<5x15xf32>
  )",
               Array("f32", {3, 1}, [](int64_t i) { return i + 1; }),
               Array("f32", {5, 15}), [](int64_t i) {
                 return i % 15 == 5 && i / 15 >= 1 && i / 15 <= 3 ? i / 15 : 0;
               });
}

TEST(Index, ConcatOfThreeOneEmpty) {
  Kernels kernels(module(R"(
    exec.kernel @k {
    ^bb0(%a: tensor<4x3xf32>, %e: tensor<4x0xf32>, %b: tensor<4x5xf32>, %c: tensor<4x1xf32>):
      %y = dlc.concat %a, %e, %b, %c {axis = 1} : (tensor<4x3xf32>, tensor<4x0xf32>, tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x9xf32>
      %z = dlc.neg %y : (tensor<4x9xf32>) -> tensor<4x9xf32>
      dlc.yield %z : tensor<4x9xf32>
    })"));
  Array a("f32", {4, 3}, identity), e("f32", {4, 0}),
      b("f32", {4, 5}, [](int64_t i) { return 100 + i; }),
      c("f32", {4, 1}, [](int64_t i) { return 200 + i; }), y("f32", {4, 9});
  kernels.run("k", {&a, &e, &b, &c}, {&y});
  for (int64_t i = 0; i < 36; ++i) {
    int64_t r = i / 9, j = i % 9;
    ASSERT_EQ(y.get(i), -(j < 3   ? r * 3 + j
                          : j < 8 ? 100 + r * 5 + j - 3
                                  : 200 + r))
        << i;
  }
}

TEST(Index, ReshapeSplitsAndJoins) {
  expectKernel(R"(^bb0(%x: tensor<6x20xi32>):
    %r = dlc.reshape %x : (tensor<6x20xi32>) -> tensor<6x4x5xi32>
    %t = dlc.transpose %r {perm = array<i64: 1, 0, 2>} : (tensor<6x4x5xi32>) -> tensor<4x6x5xi32>
    %y = dlc.reshape %t : (tensor<4x6x5xi32>) -> tensor<24x5xi32>
    dlc.yield %y : tensor<24x5xi32>
  )",
               Array("i32", {6, 20}, identity), Array("i32", {24, 5}),
               [](int64_t i) {
                 int64_t h = i / 30, t = i / 5 % 6, c = i % 5;
                 return t * 20 + h * 5 + c;
               });
}

TEST(Index, ReshapeThatIsNoLinearForm) {
  expectKernel(R"(^bb0(%x: tensor<6x7xi32>):
    %t = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<6x7xi32>) -> tensor<7x6xi32>
    %y = dlc.reshape %t : (tensor<7x6xi32>) -> tensor<3x14xi32>
    %z = dlc.transpose %y {perm = array<i64: 1, 0>} : (tensor<3x14xi32>) -> tensor<14x3xi32>
    dlc.yield %z : tensor<14x3xi32>
  )",
               Array("i32", {6, 7}, identity), Array("i32", {14, 3}),
               [](int64_t i) {
                 int64_t p = i % 3 * 14 + i / 3; // position in the 7x6 tensor
                 return p % 6 * 7 + p / 6;
               });
}

TEST(Index, IotaAndConstantTables) {
  expectKernel(R"(^bb0(%x: tensor<2x3xi64>):
    %i = dlc.iota {axis = 1} : () -> tensor<2x3xi64>
    %t = dlc.constant dense<[10, 20, 40]> : tensor<3xi64>
    %s = dlc.constant dense<7> : tensor<i64>
    %a = dlc.mul %i, %t : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi64>
    %b = dlc.add %a, %x : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xi64>
    %y = dlc.sub %b, %s : (tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi64>
    dlc.yield %y : tensor<2x3xi64>
  )",
               Array("i64", {2, 3}, identity), Array("i64", {2, 3}),
               [](int64_t i) {
                 const int64_t table[] = {10, 20, 40};
                 return i % 3 * table[i % 3] + i - 7;
               });
}

TEST(Index, HalfAndBoolTables) {
  Kernels kernels(module(R"(
    exec.kernel @k {
    ^bb0(%x: tensor<4xbf16>):
      %h = dlc.constant dense<[0.5, -2.0, 3.0, 1.0]> : tensor<4xbf16>
      %m = dlc.constant dense<[true, false, true, true]> : tensor<4xi1>
      %a = dlc.mul %x, %h : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
      %y = dlc.select %m, %a, %x : (tensor<4xi1>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
      dlc.yield %y : tensor<4xbf16>
    })"));
  Array x("bf16", {4}, [](int64_t i) { return i + 1; }), y("bf16", {4});
  kernels.run("k", {&x}, {&y});
  const double want[] = {0.5, 2, 9, 4};
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(y.get(i), want[i]) << i;
}

TEST(Index, EmptyScalarAndUnitShapes) {
  Kernels kernels(module(R"(
    exec.kernel @empty {
    ^bb0(%x: tensor<0x5xf32>):
      %y = dlc.neg %x : (tensor<0x5xf32>) -> tensor<0x5xf32>
      dlc.yield %y : tensor<0x5xf32>
    }
    exec.kernel @scalar {
    ^bb0(%x: tensor<f32>):
      %y = dlc.neg %x : (tensor<f32>) -> tensor<f32>
      %z = dlc.reshape %y : (tensor<f32>) -> tensor<1x1xf32>
      dlc.yield %y, %z : tensor<f32>, tensor<1x1xf32>
    }
    exec.kernel @nothing_in {
    ^bb0:
      %z = dlc.constant dense<3.0> : tensor<17xf32>
      dlc.yield %z : tensor<17xf32>
    })"));
  EXPECT_EQ(kernels.extent("empty"), 0);
  Array e("f32", {0, 5}), e2("f32", {0, 5});
  kernels.run("empty", {&e}, {&e2});
  Array x("f32", {}, [](int64_t) { return 2; }), y("f32", {}), z("f32", {1, 1}),
      n("f32", {17});
  kernels.run("scalar", {&x}, {&y, &z});
  EXPECT_EQ(y.get(0), -2);
  EXPECT_EQ(z.get(0), -2);
  kernels.run("nothing_in", {}, {&n});
  EXPECT_EQ(n.get(16), 3);
}

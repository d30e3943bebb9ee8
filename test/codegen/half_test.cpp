// SPDX-License-Identifier: Apache-2.0
// bf16 and f16: computed in f32, rounded once, to nearest with ties to even;
// and 8-bit floats, which are codes.
#include "Kernels.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>

using namespace dlc::test;

namespace {

uint16_t bitsAt(const Array &halfs, int64_t i) {
  uint16_t bits;
  std::memcpy(&bits, &halfs.bytes[i * 2], 2);
  return bits;
}

/// haswell: no bf16 instructions, 256 bits. x86-64: no fma, no vector rounding.
class Bf16 : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Cpus, Bf16,
                         testing::Values("native", "haswell", "x86-64"));

TEST_P(Bf16, RoundsToNearestEvenOnce) {
  Kernels kernels(module(R"(
    exec.kernel @round {
    ^bb0(%x: tensor<70000xf32>):
      %y = dlc.cast %x : (tensor<70000xf32>) -> tensor<70000xbf16>
      %z = dlc.cast %y : (tensor<70000xbf16>) -> tensor<70000xf32>
      dlc.yield %y, %z : tensor<70000xbf16>, tensor<70000xf32>
    }
    exec.kernel @chain {
    ^bb0(%x: tensor<70000xbf16>):
      %a = dlc.mul %x, %x : (tensor<70000xbf16>, tensor<70000xbf16>) -> tensor<70000xbf16>
      %b = dlc.add %a, %x : (tensor<70000xbf16>, tensor<70000xbf16>) -> tensor<70000xbf16>
      dlc.yield %b : tensor<70000xbf16>
    })"),
                  GetParam());
  Array x("f32", {70000}), y("bf16", {70000}), z("f32", {70000});
  for (int64_t i = 0; i < 70000;
       ++i) { // every upper half, lower halves around the tie
    uint32_t bits = (uint32_t)i << 16 | (i % 3 == 0   ? 0x8000
                                         : i % 3 == 1 ? 0x8001
                                                      : 0x7fff);
    std::memcpy(&x.bytes[i * 4], &bits, 4);
  }
  kernels.run("round", {&x}, {&y, &z});
  for (int64_t i = 0; i < 70000; ++i) {
    double v = x.get(i), want = roundToBf16(v);
    if (std::isnan(v)) {
      ASSERT_TRUE(std::isnan(y.get(i)) && std::isnan(z.get(i))) << i;
    } else if (std::fabs(v) >=
               std::numeric_limits<float>::min()) { // the CPU may flush
                                                    // denormals
      ASSERT_EQ(y.get(i), want) << v;
      ASSERT_EQ(z.get(i), want) << v;
    }
  }
  Array a("bf16", {70000}, uniform(-3, 3)), b("bf16", {70000});
  kernels.run("chain", {&a}, {&b});
  for (int64_t i = 0; i < 70000; ++i) {
    float v = (float)a.get(i);
    // The product and the sum may be one rounding or two.
    ASSERT_TRUE(b.get(i) == roundToBf16(std::fma(v, v, v)) ||
                b.get(i) == roundToBf16(v * v + v))
        << v;
  }
}

/// Subnormals, which the CPU's rounding flushes, and the bits of NaN included.
TEST_P(Bf16, MovesKeepAllBits) {
  Kernels kernels(module(R"(
    exec.kernel @part {
    ^bb0(%x: tensor<65540xbf16>):
      %y = dlc.slice %x {starts = array<i64: 4>, sizes = array<i64: 65536>, steps = array<i64: 1>} : (tensor<65540xbf16>) -> tensor<65536xbf16>
      dlc.yield %y : tensor<65536xbf16>
    })"),
                  GetParam());
  if (kernels.areEmulated())
    GTEST_SKIP() << "the emulator's host flushes subnormals, a GPU does not";
  Array x("bf16", {65540}), y("bf16", {65536});
  for (int64_t i = 0; i < 65536; ++i)
    std::memcpy(&x.bytes[(i + 4) * 2], &i, 2);
  kernels.run("part", {&x}, {&y});
  for (int64_t i = 0; i < 65536; ++i)
    ASSERT_EQ(bitsAt(y, i), i);
}

class F16 : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Cpus, F16, testing::Values("native", "haswell"));

constexpr int64_t kHalfs = 65536;

/// Every half, in the order of its bits.
Array everyHalf() {
  Array halfs("f16", {kHalfs});
  for (int64_t i = 0; i < kHalfs; ++i)
    std::memcpy(&halfs.bytes[i * 2], &i, 2);
  return halfs;
}

TEST_P(F16, WidensEveryNumber) {
  Kernels kernels(module(R"(
    exec.kernel @widen {
    ^bb0(%x: tensor<65536xf16>):
      %y = dlc.cast %x : (tensor<65536xf16>) -> tensor<65536xf32>
      dlc.yield %y : tensor<65536xf32>
    }
    exec.kernel @negate {
    ^bb0(%x: tensor<65536xf16>):
      %y = dlc.neg %x : (tensor<65536xf16>) -> tensor<65536xf16>
      dlc.yield %y : tensor<65536xf16>
    })"),
                  GetParam());
  Array x = everyHalf(), y("f32", {kHalfs}), z("f16", {kHalfs});
  kernels.run("widen", {&x}, {&y});
  kernels.run("negate", {&x}, {&z});
  for (int64_t i = 0; i < kHalfs; ++i) {
    if (std::isnan(x.get(i))) {
      ASSERT_TRUE(std::isnan(y.get(i)) && std::isnan(z.get(i))) << i;
      continue;
    }
    ASSERT_EQ(y.get(i), x.get(i)) << i;
    ASSERT_EQ(bitsAt(z, i), i ^ 0x8000);
  }
}

/// Between all neighbours: the middle, and the f32 next to it on either side.
TEST_P(F16, RoundsToNearestEvenOnce) {
  Kernels kernels(module(R"(
    exec.kernel @round {
    ^bb0(%x: tensor<196608xf32>):
      %y = dlc.cast %x : (tensor<196608xf32>) -> tensor<196608xf16>
      %z = dlc.cast %y : (tensor<196608xf16>) -> tensor<196608xf32>
      dlc.yield %y, %z : tensor<196608xf16>, tensor<196608xf32>
    }
    exec.kernel @square {
    ^bb0(%x: tensor<65536xf16>):
      %y = dlc.mul %x, %x : (tensor<65536xf16>, tensor<65536xf16>) -> tensor<65536xf16>
      dlc.yield %y : tensor<65536xf16>
    })"),
                  GetParam());
  Array halfs = everyHalf();
  Array x("f32", {3 * kHalfs}, [&](int64_t i) {
    // The number above 65504 would be 65536.
    float low = (float)halfs.get(i / 3),
          high = (float)halfs.get((i / 3 + 1) % kHalfs);
    high = std::isinf(high) ? std::copysign(65536.0f, low) : high;
    float middle = low + (high - low) / 2;
    return i % 3 == 1 ? middle : std::nextafter(middle, i % 3 ? high : low);
  });
  Array y("f16", {3 * kHalfs}), z("f32", {3 * kHalfs}), w("f16", {kHalfs});
  kernels.run("round", {&x}, {&y, &z});
  for (int64_t i = 0; i < 3 * kHalfs; ++i) {
    _Float16 want = (_Float16)(float)x.get(i);
    if (std::isnan((float)want)) {
      ASSERT_TRUE(std::isnan(y.get(i)) && std::isnan(z.get(i))) << i;
      continue;
    }
    ASSERT_EQ(y.get(i), (double)want) << x.get(i);
    ASSERT_EQ(z.get(i), (double)want) << x.get(i);
  }
  kernels.run("square", {&halfs}, {&w});
  for (int64_t i = 0; i < kHalfs; ++i) {
    double v = halfs.get(i);
    if (!std::isnan(v)) {
      ASSERT_EQ(w.get(i), (double)(_Float16)(float)(v * v)) << v;
    }
  }
}

/// 8-bit floats as ml_dtypes has them (test/refs/make_float8.py): encoded, and
/// decoded again.
TEST_P(Bf16, Float8AsMlDtypes) {
  std::vector<uint32_t> numbers;
  std::vector<unsigned> codes[2];
  std::ifstream file(DLC_REFS "/float8.txt");
  file >> std::hex;
  for (unsigned bits, e4m3, e5m2; file >> bits >> e4m3 >> e5m2;) {
    numbers.push_back(bits);
    codes[0].push_back(e4m3);
    codes[1].push_back(e5m2);
  }
  const auto n = static_cast<int64_t>(numbers.size());
  ASSERT_GT(n, 1000);
  const std::string s = std::to_string(n);
  std::string kernels;
  for (const char *format : {"e4m3", "e5m2"})
    kernels += std::string("exec.kernel @") + format + " {\n^bb0(%x: tensor<" +
               s + "xf32>):\n  %y = dlc.float8_encode %x {format = \"" +
               format + "\"} : (tensor<" + s + "xf32>) -> tensor<" + s +
               "xi8>\n  %z = dlc.float8_decode %y {format = \"" + format +
               "\"} : (tensor<" + s + "xi8>) -> tensor<" + s +
               "xf32>\n  dlc.yield %y, %z : tensor<" + s + "xi8>, tensor<" + s +
               "xf32>\n}\n";
  Kernels compiled(module(kernels), GetParam());
  Array x("f32", {n}), y("i8", {n}), z("f32", {n});
  std::memcpy(x.bytes.data(), numbers.data(), x.bytes.size());
  for (int format : {0, 1}) {
    const int mantissa = 3 - format, bias = format ? 15 : 7;
    compiled.run(format ? "e5m2" : "e4m3", {&x}, {&y, &z});
    for (int64_t i = 0; i < n; ++i) {
      const unsigned code = codes[format][i];
      ASSERT_EQ(y.get(i), code) << format << " of " << x.get(i);
      const int exponent = (code & 127) >> mantissa;
      double value = code & ((1 << mantissa) - 1);
      value = std::ldexp(exponent ? value + (1 << mantissa) : value,
                         std::max(exponent, 1) - bias - mantissa);
      if (code == 127)
        ASSERT_TRUE(std::isnan(z.get(i))) << x.get(i);
      else
        ASSERT_EQ(z.get(i), code & 128 ? -value : value) << format;
    }
  }
}

} // namespace

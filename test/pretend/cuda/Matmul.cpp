// SPDX-License-Identifier: Apache-2.0
// matmul on the CUDA backend: what reaches cuBLASLt means the same product. The
// stand-in computes with the CPU's own matmul, so the numbers only show that
// shapes, strides, transposes and epilogues were told rightly.
#include "Fixture.h"
#include "runtime/base/numbers/DType.h"

#include <cmath>
#include <cstring>
#include <numeric>

using namespace dlc;
using namespace dlc::test;

namespace {

using Dims = std::vector<int64_t>;

int64_t countOf(const Dims &dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1),
                         std::multiplies<>());
}

class CudaMatmul : public Cuda {
protected:
  struct Case {
    Dims a, b, y;
    int transA = 0, transB = 0, bias = 0;
    const char *activation = "";
    plan::DType type = plan::F32;
  };

  TestCommand commandOf(const Case &c, std::byte *base) {
    TestCommand command("matmul");
    command.in(base, c.a, c.type).in(base + kB, c.b, c.type);
    if (c.bias)
      command.in(base + kBias, {c.y.back()}, c.type)
          .set("has_bias", int64_t(1));
    command.out(base + kY, c.y, c.type);
    command.set("trans_a", int64_t(c.transA)).set("trans_b", int64_t(c.transB));
    if (*c.activation)
      command.set("activation", c.activation);
    return command;
  }

  void compare(const Case &c) {
    SCOPED_TRACE(
        fmt::format("[{}] @ [{}]", fmt::join(c.a, ","), fmt::join(c.b, ",")));
    auto gpu = open();
    std::vector<float> found, memory;
    ASSERT_NO_FATAL_FAILURE(runOnBoth(
        *gpu, [&](std::byte *base) { return commandOf(c, base); }, kAll / 4,
        false, found, memory));
    if (c.type != plan::F32) {
      EXPECT_EQ(std::memcmp(found.data(), memory.data(), kAll), 0);
      return;
    }
    for (int64_t i = 0; i < countOf(c.y); ++i)
      EXPECT_NEAR(found[kY / 4 + i], memory[kY / 4 + i], 1e-4) << i;
  }

  static constexpr int64_t kB = 16384, kBias = 32768, kY = 49152, kAll = 65536;
};

TEST_F(CudaMatmul, MeansTheSameProduct) {
  compare({{5, 7}, {7, 3}, {5, 3}});
  compare({{7, 5}, {7, 3}, {5, 3}, 1});
  compare({{5, 7}, {3, 7}, {5, 3}, 0, 1});
  compare({{7, 5}, {3, 7}, {5, 3}, 1, 1});
  compare({{5, 7}, {7, 3}, {5, 3}, 0, 0, 1});
  compare({{5, 7}, {7, 3}, {5, 3}, 0, 0, 1, "relu"});
  compare({{5, 7}, {7, 3}, {5, 3}, 0, 0, 0, "gelu_tanh"});
  compare({{2, 5, 7}, {7, 3}, {2, 5, 3}});
  compare({{4, 5, 7}, {4, 7, 3}, {4, 5, 3}});
  compare({{4, 7, 5}, {4, 3, 7}, {4, 5, 3}, 1, 1});
  compare({{5, 7}, {4, 7, 3}, {4, 5, 3}});
  // Two kinds of batch dimension, broadcast in different ways.
  compare({{2, 1, 5, 7}, {1, 3, 7, 4}, {2, 3, 5, 4}});
  compare({{2, 3, 5, 7}, {3, 7, 4}, {2, 3, 5, 4}});
  compare({{2, 3, 5, 7}, {2, 1, 7, 4}, {2, 3, 5, 4}});
  compare({{6, 8}, {8, 4}, {6, 4}, 0, 0, 1, "relu", plan::BF16});
}

TEST_F(CudaMatmul, RefusesWhatTheLibraryLacks) {
  auto gpu = open();
  std::byte *const base = *gpu->allocate(kAll, "memory");
  const auto refuse = [&](const Case &c) {
    const TestCommand command = commandOf(c, base);
    return gpu->bind(command.spec()).status().message();
  };
  EXPECT_EQ(refuse({{5, 7}, {7, 3}, {5, 3}, 0, 0, 0, "tanh"}),
            "matmul 'matmul_node': cuBLASLt has no activation 'tanh'");
  EXPECT_EQ(refuse({{5, 7}, {6, 3}, {5, 3}}),
            "matmul 'matmul_node': a contracts 7 elements and b 6");
  Environment none("DLC_STANDIN_NO_ALGORITHM", "1");
  EXPECT_EQ(refuse({{5, 7}, {7, 3}, {5, 3}}),
            "matmul 'matmul_node': cuBLASLt 130100 has no algorithm for it on "
            "Stand-in GPU");
}

// Products of 8-bit floats. Codes of E4M3 0x30 to 0x48 are 0.5 to 4, and of
// E5M2 0x38 to 0x44 are 0.5 to 4, too.
class CudaFloat8 : public Cuda {
protected:
  struct Case {
    int64_t m = 16, n = 32, k = 48;
    const char *formatA = "e4m3", *formatB = "e4m3";
    int64_t offset = 0; // bytes, of a
    bool hasBias = false;
  };
  static constexpr int64_t kA = 1024, kB = 4096, kBias = 8192, kY = 9216,
                           kAll = 16384;

  TestCommand commandOf(const Case &c, std::byte *base) {
    TestCommand command("scaled_matmul");
    command.in(base + kA + c.offset, {c.m, c.k}, plan::U8)
        .in(base + kB, {c.n, c.k}, plan::U8)
        .in(base, {})
        .in(base + 4, {});
    if (c.hasBias)
      command.in(base + kBias, {c.n}, plan::BF16).set("has_bias", int64_t(1));
    command.out(base + kY, {c.m, c.n}, plan::BF16);
    command.set("format_a", c.formatA).set("format_b", c.formatB);
    return command;
  }
  std::string refusal(const Case &c) {
    auto gpu = open();
    const TestCommand command = commandOf(c, *gpu->allocate(kAll, "memory"));
    auto bound = gpu->bind(command.spec());
    if (!bound.ok())
      return bound.status().message();
    return (*bound)->enqueue().message();
  }

  void compute(const Case &c) {
    std::vector<std::byte> memory(kAll);
    const float scales[] = {0.25F, 3};
    std::memcpy(memory.data(), scales, sizeof scales);
    const auto valueOf = [](int code, bool isE5m2) { // normal numbers
      const int mantissa = isE5m2 ? 2 : 3, bias = isE5m2 ? 15 : 7,
                fraction = code & ((1 << mantissa) - 1);
      return std::ldexp(fraction + (1 << mantissa),
                        (code >> mantissa) - bias - mantissa);
    };
    const bool isA = c.formatA[1] == '5', isB = c.formatB[1] == '5';
    const auto codeOf = [](int64_t i, bool isE5m2) {
      return static_cast<int>(isE5m2 ? 0x38 + i % 13 : 0x30 + i % 25);
    };
    for (int64_t i = 0; i < c.m * c.k; ++i)
      memory[kA + i] = static_cast<std::byte>(codeOf(i, isA));
    for (int64_t i = 0; i < c.n * c.k; ++i)
      memory[kB + i] = static_cast<std::byte>(codeOf(3 * i, isB));
    for (int64_t i = 0; i < c.n; ++i) {
      const uint16_t bias = toBf16(static_cast<float>(i) - 5);
      std::memcpy(&memory[kBias + 2 * i], &bias, 2);
    }
    auto gpu = open();
    std::byte *const base = *gpu->allocate(kAll, "memory");
    ASSERT_TRUE(gpu->upload(base, memory.data(), kAll).ok());
    const TestCommand command = commandOf(c, base);
    auto bound = gpu->bind(command.spec());
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    ASSERT_TRUE((*bound)->enqueue().ok());
    ASSERT_TRUE(gpu->download(memory.data(), base, kAll).ok());
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < c.k; ++k)
          sum += valueOf(codeOf(i * c.k + k, isA), isA) *
                 valueOf(codeOf(3 * (j * c.k + k), isB), isB);
        sum = sum * 0.25 * 3 + (c.hasBias ? double(j) - 5 : 0);
        uint16_t found;
        std::memcpy(&found, &memory[kY + 2 * (i * c.n + j)], 2);
        EXPECT_EQ(found, toBf16(static_cast<float>(sum))) << i << ", " << j;
      }
  }
};

TEST_F(CudaFloat8, MeansTheSameProduct) {
  compute({});
  compute({.formatA = "e5m2"});
  compute({.m = 48, .n = 16, .k = 16, .formatB = "e5m2"});
  compute({.hasBias = true});
}

// The library's rules, as the stand-in knows them, and dlc's.
TEST_F(CudaFloat8, RefusesWhatTheLibraryLacks) {
  const std::string start = "scaled_matmul 'scaled_matmul_node': ",
                    none = start +
                           "cuBLASLt 130100 has no algorithm for it on "
                           "Stand-in GPU; compile with --amp-dtype=bf16";
  EXPECT_EQ(refusal({.m = 8}), none);
  EXPECT_EQ(refusal({.n = 24}), none);
  EXPECT_EQ(refusal({.k = 40}), none);
  EXPECT_EQ(refusal({.formatA = "e5m2", .formatB = "e5m2"}), none);
  EXPECT_EQ(refusal({.formatA = "e3m4"}),
            start + "format_a is 'e3m4', expected e4m3 or e5m2");
  EXPECT_NE(refusal({.offset = 8}).find("CUBLAS_STATUS_INVALID_VALUE"),
            std::string::npos);
  EXPECT_EQ(refusal({}), "");
}

} // namespace

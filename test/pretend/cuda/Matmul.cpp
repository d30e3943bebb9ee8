// SPDX-License-Identifier: Apache-2.0
// matmul on the CUDA backend: what reaches cuBLASLt means the same product. The
// stand-in computes with the CPU's own matmul, so the numbers only show that
// shapes, strides, transposes and epilogues were told rightly.
#include "Fixture.h"

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

} // namespace

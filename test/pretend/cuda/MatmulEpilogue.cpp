// SPDX-License-Identifier: Apache-2.0
// Epilogues of cuBLASLt: which one a command becomes, with which operands, and
// what is said where the library has none. test/device has their values.
#include "Fixture.h"

#include <cstring>

using namespace dlc;
using namespace dlc::test;

namespace {

class CudaMatmulEpilogue : public Cuda {
protected:
  // [8, 16] @ [16, 24] with what `kind` has besides.
  static TestCommand commandOf(const std::string &kind,
                               const std::string &activation, bool hasBias,
                               std::byte *base, plan::DType type = plan::F32) {
    TestCommand command(kind);
    command.in(base, {8, 16}, type).in(base + kB, {16, 24}, type);
    if (hasBias)
      command.in(base + kVector, {24}, type).set("has_bias", int64_t(1));
    command.out(base + kY, {8, 24}, type);
    if (kind == "matmul_activation")
      command.out(base + kKept, {8, 24}, type);
    command.set("activation", activation.c_str());
    return command;
  }
  // Rows of `of` are summed by [8, 16]' @ [8, 24].
  static TestCommand sumOf(const char *of, std::byte *base) {
    TestCommand command("matmul_bias_backward");
    command.in(base, {8, 16}).in(base + kB, {8, 24});
    command.out(base + kY, {16, 24});
    command.out(base + kVector, {*of == 'a' ? 16 : 24});
    command.set("trans_a", int64_t(1)).set("of", of);
    return command;
  }

  std::string refuse(CudaDevice &gpu, const TestCommand &command) {
    return gpu.bind(command.spec()).status().message();
  }

  static constexpr int64_t kB = 4096, kVector = 8192, kKept = 12288, kY = 16384,
                           kAll = 32768;
};

// Each by its number, which this library then lacks; with the way out.
TEST_F(CudaMatmulEpilogue, AreTheLibrarys) {
  auto gpu = open();
  std::byte *const base = *gpu->allocate(kAll, "memory");
  const auto expect = [&](int number, const std::string &name,
                          const TestCommand &command) {
    const Environment none("DLC_STANDIN_NO_EPILOGUE", std::to_string(number));
    const std::string kind = command.spec().command.kind();
    EXPECT_EQ(refuse(*gpu, command),
              fmt::format("{0} '{0}_node': cuBLASLt 130100 has no algorithm "
                          "for it with {1} on Stand-in GPU; compile with "
                          "--matmul-epilogues=off",
                          kind, name));
  };
  const auto make = [&](const std::string &kind, const std::string &activation,
                        bool hasBias) {
    return commandOf(kind, activation, hasBias, base);
  };
  const std::string keeps = "matmul_activation";
  expect(2, "RELU", make("matmul", "relu", false));
  expect(36, "GELU_BIAS", make("matmul", "gelu_tanh", true));
  expect(160, "GELU_AUX", make(keeps, "gelu_tanh", false));
  expect(164, "GELU_AUX_BIAS", make(keeps, "gelu_tanh", true));
  // The library's A is our second operand.
  expect(512, "BGRADB", sumOf("a", base));
  expect(256, "BGRADA", sumOf("b", base));
}

// What was measured for aligned vectors is not taken for others.
TEST_F(CudaMatmulEpilogue, AlignmentIsAPartOfTheKey) {
  TuneOptions options;
  options.mode = TuneOptions::Mode::Benchmark;
  options.cacheFolder = path("cache");
  auto gpu = CudaDevice::create(0, options);
  ASSERT_TRUE(gpu.ok()) << gpu.status().message();
  std::byte *const base = *(*gpu)->allocate(kAll, "memory");
  for (const int64_t offset : {0, 4}) {
    TestCommand command("matmul");
    command.in(base, {8, 16}).in(base + kB, {16, 24});
    command.in(base + kVector + offset, {24}).set("has_bias", int64_t(1));
    command.out(base + kY, {8, 24});
    for (int round = 0; round < 2; ++round) {
      standin_->clearTrace();
      const CommandSpec spec = command.spec();
      auto bound = (*gpu)->bind(spec);
      ASSERT_TRUE(bound.ok()) << bound.status().message();
      // Measured at first, then known; nothing is refused.
      EXPECT_EQ(trace().find("plan cublasLt") == std::string::npos, round == 1);
      ASSERT_TRUE((*bound)->enqueue().ok() && (*gpu)->synchronize().ok());
    }
  }
}

// Also with a graph, whose work must say what it touches.
TEST_F(CudaMatmulEpilogue, MeansTheSame) {
  auto gpu = open();
  for (bool recorded : {false, true})
    for (bool hasBias : {false, true}) {
      std::vector<float> found, expected;
      ASSERT_NO_FATAL_FAILURE(runOnBoth(
          *gpu,
          [&](std::byte *base) {
            return commandOf("matmul_activation", "gelu_tanh", hasBias, base);
          },
          kAll / 4, recorded, found, expected));
      for (int64_t i = 0; i < kAll / 4; ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
    }
}

// Algorithms are measured on results of their own: none of the command's
// changes before it runs.
TEST_F(CudaMatmulEpilogue, IsMeasuredElsewhere) {
  TuneOptions options;
  options.mode = TuneOptions::Mode::Benchmark;
  options.cacheFolder = path("cache");
  const Environment fast("DLC_STANDIN_FAST_ALGORITHM", "1");
  auto gpu = CudaDevice::create(0, options);
  ASSERT_TRUE(gpu.ok()) << gpu.status().message();
  std::byte *const base = *(*gpu)->allocate(kAll, "memory");
  std::vector<std::byte> before(kAll, std::byte(1)), after(kAll);
  ASSERT_TRUE((*gpu)->upload(base, before.data(), kAll).ok());
  std::vector<TestCommand> commands;
  commands.push_back(commandOf("matmul_activation", "gelu_tanh", true, base));
  commands.push_back(sumOf("a", base));
  for (const TestCommand &command : commands) {
    standin_->clearTrace();
    auto bound = (*gpu)->bind(command.spec());
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_NE(trace().find("algorithm 2"), std::string::npos);
    ASSERT_TRUE((*gpu)->download(after.data(), base, kAll).ok());
    EXPECT_EQ(std::memcmp(before.data(), after.data(), kAll), 0);
  }
  auto sum = (*gpu)->bind(commands.back().spec());
  ASSERT_TRUE(sum.ok() && (*sum)->enqueue().ok());
  ASSERT_TRUE((*gpu)->download(after.data(), base, kAll).ok());
  EXPECT_NE(std::memcmp(after.data() + kVector, before.data() + kVector, 64),
            0);
}

} // namespace

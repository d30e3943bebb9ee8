// SPDX-License-Identifier: Apache-2.0
// The native target has the features that the processor reports, by whatever
// model number a virtual machine gives it.
#include "compiler/target/cpu/codegen/CpuTarget.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>

namespace {

/// The flags of /proc/cpuinfo, empty where it has no such line.
std::vector<std::string> flagsOfProcessor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

TEST(NativeTarget, HasTheFeaturesOfTheProcessor) {
  const std::vector<std::string> flags = flagsOfProcessor();
  if (flags.empty())
    GTEST_SKIP() << "/proc/cpuinfo has no flags";
  std::string why;
  auto target = dlc::resolveCpuTarget("native", &why);
  ASSERT_TRUE(llvm::succeeded(target)) << why;
  auto reports = [&](const char *flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  EXPECT_EQ(target->has("avx2"), reports("avx2"));
  EXPECT_EQ(target->has("fma"), reports("fma"));
  EXPECT_EQ(target->has("avx512vl"), reports("avx512vl"));
  EXPECT_EQ(target->has("avx512bf16"), reports("avx512_bf16"));
  EXPECT_EQ(target->hasAmx, reports("amx_bf16"));
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// The patterns on the emulator against the CPU backend.
#include "Check.h"
#include "Patterns.h"

#include <gtest/gtest.h>

namespace dlc::test {
namespace {

class Patterns : public testing::TestWithParam<PatternModule> {};

TEST_P(Patterns, EqualTheCpu) {
  const CheckReport report = checkKernels(GetParam().text);
  for (const std::string &error : report.errors)
    ADD_FAILURE() << error;
  EXPECT_EQ(report.kernels, GetParam().kernels);
  std::printf("%ld kernels, %ld runs\n", long(report.kernels),
              long(report.runs));
}

INSTANTIATE_TEST_SUITE_P(All, Patterns, testing::ValuesIn(patternModules()),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           std::erase(name, '-');
                           return name;
                         });

} // namespace
} // namespace dlc::test

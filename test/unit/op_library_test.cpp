// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/ops/OpLibrary.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace dlc {
namespace {

TEST(OpCall, AttributesComeBack) {
  auto call =
      OpCall::make(attributesText({{"alpha", std::vector<double>{0.5, 2}},
                                   {"mode", std::string("wrap \"x\"")},
                                   {"pads", std::vector<int64_t>{1, -2}}}));
  ASSERT_TRUE(call.ok()) << call.status().message();
  auto look = [](const dlc_op_call *c) {
    const dlc_op_attribute *a = c->attributes;
    const bool isRight =
        c->attribute_count == 3 && std::string(a[0].name) == "alpha" &&
        a[0].count == 2 && !a[0].integers && a[0].numbers[1] == 2 &&
        std::string(a[1].text) == "wrap \"x\"" && !a[1].numbers &&
        a[2].integers[1] == -2 && a[2].numbers[0] == 1 && !a[2].text;
    return isRight ? 0 : 1;
  };
  EXPECT_TRUE(call->run(look, "look").ok());
}

TEST(OpCall, SaysWhatAFunctionSays) {
  auto call = OpCall::make("{}");
  ASSERT_TRUE(call.ok());
  auto silent = [](const dlc_op_call *) { return 7; };
  EXPECT_EQ(call->run(silent, "custom 'a'").message(),
            "custom 'a': its library returned 7");
  auto endless = [](const dlc_op_call *c) {
    for (size_t i = 0; i < c->error_size; ++i)
      c->error[i] = 'x';
    return 1;
  };
  EXPECT_EQ(call->run(endless, "a").code(), Code::Failed);
}

TEST(OpCall, RefusesOtherText) {
  for (const char *text : {"", "[]", "{\"a\": {}}", "{\"a\": [[1]]}",
                           "{\"a\": [null]}", "{\"a\": 1}"})
    EXPECT_EQ(OpCall::make(text).status().code(), Code::Corrupt) << text;
}

TEST(OpLibraries, NamesWhatIsMissing) {
  OpLibraries libraries;
  const Status status = libraries.get("ops.a.so").status();
  EXPECT_EQ(status.code(), Code::Corrupt);
  EXPECT_EQ(status.message(),
            "no library of operators 'ops.a.so' in the artifact");
  EXPECT_EQ(OpLibrary::load("text", "a.so").status().code(), Code::Corrupt);
}

} // namespace
} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Regular expressions of users.
#include "runtime/base/options/Pattern.h"

#include <gtest/gtest.h>

#include <chrono>

namespace dlc {
namespace {

TEST(Pattern, IsSearched) {
  Pattern pattern = *Pattern::parse("^conv[0-9]+\\.(weight|bias)$");
  EXPECT_TRUE(pattern.search("conv12.bias"));
  EXPECT_FALSE(pattern.search("deconv1.bias"));
  EXPECT_TRUE(Pattern::parse("")->search("anything"));
  EXPECT_TRUE(Pattern::parse("b")->search("\xff\xe9 b"));
}

TEST(Pattern, SaysWhatIsWrong) {
  auto message = [](const char *text) {
    auto pattern = Pattern::parse(text);
    EXPECT_EQ(pattern.status().code(), Code::Usage);
    return pattern.status().message();
  };
  EXPECT_NE(message("(").find("'(' is not a regular expression: missing )"),
            std::string::npos);
  for (const char *text : {"(?!bn)w", "(?<=a)b", "(a)\\1"})
    EXPECT_NE(message(text).find("no look-around"), std::string::npos) << text;
  EXPECT_NE(message(std::string(5000, 'a').c_str()).find("too long"),
            std::string::npos);
}

// A backtracking matcher recurses once a character, or tries all ways.
TEST(Pattern, TakesLinearTime) {
  std::string name(1 << 20, 'a');
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(Pattern::parse("(a*)*b")->search(name));
  EXPECT_TRUE(Pattern::parse("(.|x)*$")->search(name));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Pattern, Groups) {
  Pattern pattern = *Pattern::parse("(\\d+) bytes, (\\w+)");
  auto found = pattern.groups("used 12 bytes, all");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<std::string>{"12", "all"}));
  EXPECT_FALSE(pattern.groups("none"));
}

TEST(Pattern, ExactNames) {
  for (std::string name : {"a.b", "x[0]+", "\n", "\xc3\xa9"}) {
    Pattern pattern = *Pattern::parse(exactPattern(name));
    EXPECT_TRUE(pattern.search(name)) << name;
    EXPECT_FALSE(pattern.search(name + "x")) << name;
  }
  EXPECT_FALSE(Pattern::parse(exactPattern("a.b"))->search("axb"));
}

TEST(Pattern, NearbyNames) {
  std::vector<std::string> names{"f1.weight", "f1.bias", "f2.weight",
                                 "f2.bias"};
  EXPECT_EQ(nearbyNames("^f1\\.wieght$", names), "; did you mean 'f1.weight'?");
  EXPECT_EQ(nearbyNames("encoder", names),
            "; there are 'f1.weight', 'f1.bias', 'f2.weight' and 1 more");
  EXPECT_EQ(nearbyNames("x", {}), "; there are none");
}

} // namespace
} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Arguments.h"
#include "runtime/base/options/OptionTable.h"
#include <gtest/gtest.h>

namespace dlc {
namespace {

/// A struct of each type of field, as a room would have it.
struct Sample {
  double rate = 0.5;
  std::optional<double> decay;
  int64_t steps = 3;
  std::string kind = "plain";
  bool on = false;
  Words names, patterns;
  int64_t memory = 0;
  int small = 1;
  uint64_t large = 0;
  std::optional<int64_t> place;
  enum class Color { Red, Green } color = Color::Red;
  bool order = true;

  void addTo(OptionTable &table) {
    table.choice("a.kind", kind, {"plain", "fancy"}, "of it");
    table.number("a.rate", rate, 0, 1, "between bounds")
        .only("a.kind", {"fancy"});
    table.number("a.decay", decay, kAboveZero, kNoLimit, "may be unset");
    table.count("b.steps", steps, 1, "of each", 10);
    table.toggle("b.on", on, "a switch").named("--switch");
    table.list("a.names", names, "NAME", "several");
    table.patterns("b.patterns", patterns, "expressions").only("b.on", {});
    table.bytes("b.memory", memory, "a size");
  }
  void addMoreTo(OptionTable &table) {
    table.count("c.small", small, 0, "an int");
    table.count("c.large", large, 0, "64 bits");
    table.count("c.place", place, 0, "may be unset").flagOnly();
    table.choice("c.color", color, {"red", "green"}, "an enum");
    table.either("c.order", order, "off", "on", "as YAML's truth values");
  }
};

class OptionTableTest : public testing::Test {
protected:
  OptionTableTest() { sample.addTo(table); }

  std::string error(const char *key, const Words &words) {
    return table.find(key)->set(words).message();
  }

  Sample sample;
  OptionTable table;
};

TEST_F(OptionTableTest, SetsTheFieldsThatItIsBoundTo) {
  EXPECT_EQ(error("a.rate", {"0.25"}), "");
  EXPECT_EQ(error("a.decay", {"2"}), "");
  EXPECT_EQ(error("b.steps", {"7"}), "");
  EXPECT_EQ(error("b.on", {"true"}), "");
  EXPECT_EQ(error("a.names", {"x", "y, z"}), "");
  EXPECT_EQ(error("b.memory", {"2KiB"}), "");
  EXPECT_EQ(sample.rate, 0.25);
  EXPECT_EQ(sample.decay, 2);
  EXPECT_EQ(sample.steps, 7);
  EXPECT_TRUE(sample.on);
  EXPECT_EQ(sample.names, (Words{"x", "y, z"}));
  EXPECT_EQ(sample.memory, 2048);
  EXPECT_EQ(error("a.decay", {}), "");
  EXPECT_EQ(sample.decay, std::nullopt);
}

TEST_F(OptionTableTest, SaysWhatWasExpectedAndLeavesTheField) {
  EXPECT_EQ(error("a.rate", {"2"}), "expected a number from 0 to 1, found '2'");
  EXPECT_EQ(error("a.rate", {"nan"}),
            "expected a number from 0 to 1, found 'nan'");
  EXPECT_EQ(error("a.decay", {"0"}), "expected a number above 0, found '0'");
  EXPECT_EQ(error("a.decay", {"1", "2"}), "expected one value, found 2");
  EXPECT_EQ(error("b.steps", {"1e3"}),
            "expected a whole number from 1 to 10, found '1e3'");
  EXPECT_EQ(error("a.kind", {"fency"}),
            "'fency' is not one of plain, fancy; did you mean 'fancy'?");
  EXPECT_EQ(error("b.on", {"maybe"}), "expected true or false, found 'maybe'");
  EXPECT_NE(error("b.patterns", {"("}), "");
  EXPECT_NE(error("b.memory", {"2 apples"}), "");
  EXPECT_EQ(table.yaml(false), [] {
    Sample fresh;
    OptionTable defaults;
    fresh.addTo(defaults);
    return defaults.yaml(false);
  }());
}

TEST_F(OptionTableTest, BoundsCountsByTheirType) {
  sample.addMoreTo(table);
  EXPECT_EQ(error("c.small", {"2147483648"}),
            "expected a whole number from 0 to 2147483647, found '2147483648'");
  EXPECT_EQ(error("c.large", {"18446744073709551615"}), "");
  EXPECT_EQ(sample.large, UINT64_MAX);
  EXPECT_EQ(error("c.large", {"-1"}),
            "expected a whole number of at least 0, found '-1'");
  EXPECT_EQ(error("c.place", {"5"}), "");
  EXPECT_EQ(sample.place, 5);
  EXPECT_EQ(error("c.place", {}), "");
  EXPECT_EQ(sample.place, std::nullopt);
}

TEST_F(OptionTableTest, NamesEnumsAndTruths) {
  sample.addMoreTo(table);
  EXPECT_EQ(error("c.color", {"green"}), "");
  EXPECT_EQ(sample.color, Sample::Color::Green);
  EXPECT_EQ(table.find("c.color")->yaml(), "green");
  EXPECT_EQ(error("c.color", {"gren"}),
            "'gren' is not one of red, green; did you mean 'green'?");
  for (const char *word : {"off", "false", "No"}) {
    EXPECT_EQ(error("c.order", {"on"}), "");
    EXPECT_EQ(error("c.order", {word}), "");
    EXPECT_FALSE(sample.order) << word;
  }
  EXPECT_EQ(error("c.order", {"maybe"}), "expected off or on, found 'maybe'");
}

TEST_F(OptionTableTest, TakesFromFilesWhatIsItsOwn) {
  sample.addMoreTo(table);
  Config config;
  config["c.place"] = {{"3"}, "f.yaml:2:9", "f.yaml:2:3"};
  EXPECT_EQ(table.apply(config, onlySection("c")).message(),
            "f.yaml:2:3: unknown key 'c.place'");
  EXPECT_TRUE(table.apply(config, onlySection("a")).ok());
  EXPECT_EQ(sample.place, std::nullopt);
}

TEST_F(OptionTableTest, PrintsSectionsOnce) {
  sample.names = {"x", "y, z"};
  table.find("b.memory")->notKept();
  EXPECT_EQ(table.yaml(false), "a:\n"
                               "  kind: plain\n"
                               "  rate: 0.5\n"
                               "  decay: null\n"
                               "  names: [x, \"y, z\"]\n"
                               "b:\n"
                               "  steps: 3\n"
                               "  on: false\n"
                               "  patterns: []\n");
}

TEST_F(OptionTableTest, RefusesWhatNothingReads) {
  EXPECT_EQ(table.check({"a.rate"}).message(), "--rate needs --kind=fancy");
  EXPECT_EQ(table.check({"b.patterns"}).message(), "--patterns needs --switch");
  sample.kind = "fancy";
  sample.on = true;
  EXPECT_TRUE(table.check({"a.rate", "b.patterns"}).ok());
}

TEST_F(OptionTableTest, RefusesContradictions) {
  table.require([&](const OptionTable::Given &given) {
    return isGiven(given, "b.steps") && sample.on
               ? usageError("--steps and --switch are both given")
               : Status();
  });
  EXPECT_TRUE(table.check({"b.steps"}).ok());
  sample.on = true;
  EXPECT_EQ(table.check({"b.steps"}).message(),
            "--steps and --switch are both given");
  EXPECT_TRUE(table.check({}).ok());
}

TEST_F(OptionTableTest, NamesThePlaceOfAnUnknownKey) {
  Config config;
  config["a.kimd"] = {{"fancy"}, "f.yaml:2:9", "f.yaml:2:3"};
  EXPECT_EQ(table.apply(config, notSection("run")).message(),
            "f.yaml:2:3: unknown key 'a.kimd'; did you mean 'a.kind'?");
  config.clear();
  config["run.kimd"] = {{"fancy"}, "f.yaml:2:9", "f.yaml:2:3"};
  EXPECT_TRUE(table.apply(config, notSection("run")).ok());
}

TEST_F(OptionTableTest, ChecksFieldsThatAProgramHasSet) {
  EXPECT_TRUE(table.validate().ok());
  sample.rate = 3;
  EXPECT_EQ(table.validate().message(),
            "--rate: expected a number from 0 to 1, found '3'");
}

TEST(Arguments, AreTakenOutOfValues) {
  std::string text = "f(x):focal(gamma=2, on):0.5,b:mse(betas=[0.9,0.99])";
  const auto taken = takeArguments(text, {"focal", "mse"});
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(text, "f(x):focal:0.5,b:mse");
  ASSERT_EQ(taken->size(), 3u);
  EXPECT_EQ((*taken)[0].kind, "focal");
  EXPECT_EQ((*taken)[0].key, "gamma");
  EXPECT_EQ((*taken)[0].words, Words{"2"});
  EXPECT_EQ((*taken)[1].words, Words{"true"});
  EXPECT_EQ((*taken)[2].words, (Words{"0.9", "0.99"}));
}

TEST(Arguments, MustBeKeysAndValues) {
  for (std::string text :
       {"focal(gamma=2", "focal(=2)", "focal(a b=2)", "focal(gamma=[])"}) {
    const std::string whole = text;
    EXPECT_FALSE(takeArguments(text, {"focal"}).ok()) << whole;
  }
  std::string none = "focal()";
  EXPECT_TRUE(takeArguments(none, {"focal"})->empty());
  EXPECT_EQ(none, "focal");
}

} // namespace
} // namespace dlc

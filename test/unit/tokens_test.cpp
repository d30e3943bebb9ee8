// SPDX-License-Identifier: Apache-2.0
// Windows of token files: what each row reads, in evaluation and in training.
#include "runtime/data/DataFiles.h"
#include "runtime/data/SampleOptions.h"
#include "runtime/data/Source.h"
#include "test/unit/TempFolder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

using namespace dlc;

namespace {

constexpr int64_t kLength = 10;

class Tokens : public TempFolder {
public:
  // Tokens first, first + 1, ...
  void write(const std::string &name, int64_t count, int first) {
    std::ofstream file(path(name), std::ios::binary);
    for (int64_t i = 0; i < count; ++i) {
      const auto token = static_cast<uint16_t>(first + i);
      file.write(reinterpret_cast<const char *>(&token), sizeof token);
    }
  }

  std::shared_ptr<const Source> open(const std::string &name) {
    SampleOptions options;
    options.tokens = "uint16";
    auto source = openSource(path(name), options);
    EXPECT_TRUE(source.ok()) << source.status().message();
    auto shaped =
        (*source)->shaped(std::vector<SampleInput>{{"x", {kLength}}}, options);
    EXPECT_TRUE(shaped.ok()) << shaped.status().message();
    return *shaped;
  }

  static std::vector<int64_t> row(const Source &source, const char *key,
                                  int64_t row, const TrainingPass *pass) {
    std::vector<int64_t> tokens(kLength);
    const auto reader = source.rows(key);
    EXPECT_TRUE(
        reader.ok() &&
        (*reader)
            ->read(row, pass, reinterpret_cast<std::byte *>(tokens.data()))
            .ok());
    return tokens;
  }
};

TEST_F(Tokens, EvaluationSeesEachOnce) {
  write("a.bin", 41, 100);
  const auto source = open("a.bin");
  ASSERT_EQ(source->head("x")->shape, (std::vector<int64_t>{4, kLength}));
  for (int64_t r = 0; r < 4; ++r)
    for (int64_t i = 0; i < kLength; ++i) {
      EXPECT_EQ(row(*source, "x", r, nullptr)[i], 100 + r * kLength + i);
      EXPECT_EQ(row(*source, "y", r, nullptr)[i], 101 + r * kLength + i);
    }
}

TEST_F(Tokens, TrainingBeginsElsewhereInEachEpoch) {
  write("a.bin", 41, 0);
  const auto source = open("a.bin");
  std::set<int64_t> begins;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const TrainingPass pass{7, epoch};
    const int64_t offset = row(*source, "x", 0, &pass)[0];
    ASSERT_LT(offset, kLength);
    begins.insert(offset);
    for (int64_t r = 0; r < 4; ++r) {
      const auto x = row(*source, "x", r, &pass);
      EXPECT_EQ(x[0], std::min<int64_t>(r * kLength + offset, 30));
      EXPECT_EQ(x[9], x[0] + 9);
      EXPECT_EQ(row(*source, "y", r, &pass)[0], x[0] + 1);
    }
  }
  EXPECT_GT(begins.size(), 5u);
}

TEST_F(Tokens, NoWindowIsOfTwoFiles) {
  write("a-08.bin", 25, 0);
  write("a-09.bin", 5, 1000);
  write("a-10.bin", 11, 2000);
  const auto source = open("a-{08..10}.bin");
  ASSERT_EQ(source->head("y")->shape, (std::vector<int64_t>{3, kLength}));
  const TrainingPass pass{1, 1};
  for (const TrainingPass *p : {(const TrainingPass *)nullptr, &pass}) {
    EXPECT_LT(row(*source, "y", 1, p)[9], 25);
    EXPECT_EQ(row(*source, "x", 2, p)[0], 2000);
  }
}

TEST(Range, KeepsDigits) {
  EXPECT_EQ(*expandRange("a{08..11}b"),
            (std::vector<std::string>{"a08b", "a09b", "a10b", "a11b"}));
  EXPECT_EQ(*expandRange("a{9..10}"), (std::vector<std::string>{"a9", "a10"}));
  EXPECT_EQ(*expandRange("plain"), std::vector<std::string>{"plain"});
  for (const char *wrong : {"a{", "a{1}", "a{1..}", "a{2..1}", "a{1..x}",
                            "a}..{", "a{-1..2}", "a{0..60000}"})
    EXPECT_EQ(expandRange(wrong).status().code(), Code::Usage) << wrong;
}

} // namespace

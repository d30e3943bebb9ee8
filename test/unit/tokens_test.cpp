// SPDX-License-Identifier: Apache-2.0
// Windows of token files: what each row reads, in evaluation and in training.
#include "runtime/data/Range.h"
#include "runtime/data/SampleOptions.h"
#include "runtime/data/Source.h"
#include "runtime/data/tokens/TokenCache.h"
#include "test/unit/TempFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

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

class CachedTokens : public Tokens {
public:
  void SetUp() override {
    Tokens::SetUp();
    cache_ = path("cache");
  }

  // How many texts are made.
  Result<TokenLists> once(uint32_t last = 70'000) {
    return tokensOnce(cache_, texts_, [&]() -> Result<TokensOfTexts> {
      ++made_;
      return TokensOfTexts{{1, 2, 3}, {}, {4, last}};
    });
  }
  std::string file() const { return cache_ + "/tokens/key.tokens"; }

  static std::vector<int64_t> all(const TokenList &list) {
    std::vector<int64_t> tokens(size_t(list.count()));
    list.read(0, list.count(), tokens.data());
    return tokens;
  }
  void expectRight(const Result<TokenLists> &lists, int64_t last = 70'000) {
    ASSERT_TRUE(lists.ok()) << lists.status().message();
    ASSERT_EQ(lists->size(), 3u);
    EXPECT_EQ(all(*(*lists)[0]), (std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ((*lists)[1]->count(), 0);
    EXPECT_EQ(all(*(*lists)[2]), (std::vector<int64_t>{4, last}));
    EXPECT_EQ((*lists)[2]->path(), "c.txt");
  }

  std::string cache_;
  CachedTexts texts_{.key = "key", .paths = {"a.txt", "b.txt", "c.txt"}};
  int made_ = 0;
};

TEST_F(CachedTokens, AreMadeOnceAndMapped) {
  expectRight(once());
  EXPECT_EQ(std::filesystem::file_size(file()), 8 + 8 * 6 + 4 * 5u);
  expectRight(once());
  EXPECT_EQ(made_, 1);
  texts_.key = "narrow";
  expectRight(once(9), 9);
  EXPECT_EQ(std::filesystem::file_size(cache_ + "/tokens/narrow.tokens"),
            8 + 8 * 6 + 2 * 5u);
  EXPECT_EQ(made_, 2);
}

TEST_F(CachedTokens, DamagedOnesAreMadeAgain) {
  expectRight(once());
  const auto size = std::filesystem::file_size(file());
  for (const uint64_t left : {uint64_t(0), uint64_t(20), size - 1}) {
    std::filesystem::resize_file(file(), left);
    expectRight(once());
  }
  EXPECT_EQ(made_, 4);
  for (const int at : {0, 8, 16, 24, 32}) { // each field of the head
    std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary)
        .seekp(at)
        .put('\x7f');
    expectRight(once());
  }
  EXPECT_EQ(made_, 9);
}

// Another process that begins to make them, and says so; killed or not.
TEST_F(CachedTokens, OnlyTheFirstProcessMakesThem) {
  for (const bool dies : {true, false}) {
    SCOPED_TRACE(dies);
    texts_.key = dies ? "dies" : "lives";
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      (void)tokensOnce(cache_, texts_, [&]() -> Result<TokensOfTexts> {
        (void)!::write(pipe[1], "x", 1);
        ::usleep(dies ? 20'000'000 : 300'000);
        return TokensOfTexts{{1, 2, 3}, {}, {4, 70'000}};
      });
      ::_exit(0);
    }
    char ready;
    ASSERT_EQ(::read(pipe[0], &ready, 1), 1);
    std::thread killer([&] {
      ::usleep(100'000);
      if (dies)
        ::kill(child, SIGKILL);
    });
    expectRight(once());
    killer.join();
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(made_, 1) << "only of the one that died";
  }
}

TEST_F(CachedTokens, NobodyWaitsLongerThanAllowed) {
  texts_.wait = std::chrono::milliseconds(50);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)tokensOnce(cache_, texts_, [&]() -> Result<TokensOfTexts> {
      (void)!::write(pipe[1], "x", 1);
      ::usleep(20'000'000);
      return TokensOfTexts{};
    });
    ::_exit(0);
  }
  char ready;
  ASSERT_EQ(::read(pipe[0], &ready, 1), 1);
  expectRight(once());
  EXPECT_FALSE(std::filesystem::exists(file()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(CachedTokens, OldOnesGoAndOthersFoldersAreRefused) {
  expectRight(once());
  const std::string old = cache_ + "/tokens/old.tokens";
  std::ofstream(old) << "x";
  std::filesystem::last_write_time(
      old, std::filesystem::file_time_type::clock::now() -
               std::chrono::hours(31 * 24));
  texts_.key = "other";
  expectRight(once());
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(file()));
  std::filesystem::permissions(cache_, std::filesystem::perms::all);
  EXPECT_EQ(once().status().code(), Code::Incompatible);
  cache_ = "";
  expectRight(once()); // in memory
}

} // namespace

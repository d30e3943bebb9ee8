// SPDX-License-Identifier: Apache-2.0
// runtime/device/TuneCache: never an entry of another key, never a torn one.
#include "runtime/base/files/Files.h"
#include "runtime/device/TuneChoices.h"
#include "test/unit/TempFolder.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc;

namespace {

TuneKey key() {
  return TuneKey()
      .add("gpu", "Stand-in GPU")
      .add("sm", 90)
      .add("multiprocessors", 132)
      .add("driver", 13000)
      .add("cudnn", 91900)
      .add("op", "conv")
      .add("x", {{"dims", {8, 3, 224, 224}}, {"dtype", "bf16"}, {"align", 16}})
      .add("tf32", false)
      .add("policy", "benchmark 10");
}

const TuneEntry kEntry{
    "35",    {{"17", 2}, {"3", -1}}, std::string("\0plan\xff", 6), 0.125,
    1 << 20, "2026-11-21T15:30:00Z"};

class Tune : public TempFolder {
protected:
  TuneCache open(TuneCache::Mode mode = TuneCache::Mode::ReadWrite) {
    auto cache = TuneCache::open(path("cache"), mode);
    EXPECT_TRUE(cache.ok()) << cache.status().message();
    return *std::move(cache);
  }
  std::string onlyFile() {
    const auto items = open().list();
    return items.ok() && items->size() == 1 ? (*items)[0].path : "";
  }
};

// As by a process that is stopped while it stores a result.
TEST_F(Tune, ALockThatIsHeldIsNotWaitedFor) {
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  const std::string lock = path("cache/tune/lock");
  const int holder = ::open(lock.c_str(), O_RDWR);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  const Status stored = open().store(key(), kEntry);
  EXPECT_EQ(stored.code(), Code::Failed);
  EXPECT_NE(stored.message().find(lock), std::string::npos);
  ::close(holder);
  EXPECT_TRUE(open().store(key(), kEntry).ok());
}

TEST_F(Tune, KeepsWhatWasFound) {
  EXPECT_FALSE(open().find(key()));
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  const auto found = open().find(key());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->engine, "35");
  EXPECT_EQ(found->knobs, kEntry.knobs);
  EXPECT_EQ(found->blob, kEntry.blob);
  EXPECT_EQ(found->milliseconds, 0.125);
  EXPECT_EQ(found->workspace, 1u << 20);
  EXPECT_EQ(found->date, kEntry.date);
  TuneEntry better = kEntry;
  better.engine = "36";
  ASSERT_TRUE(open().store(key(), better).ok());
  EXPECT_EQ(open().find(key())->engine, "36");
  EXPECT_EQ(open().list()->size(), 1u);
}

TEST_F(Tune, NothingElseFits) {
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  const std::vector<std::pair<const char *, Json>> changes = {
      {"gpu", "Stand-in GPU 2"},
      {"sm", 100},
      {"multiprocessors", 131},
      {"driver", 13001},
      {"cudnn", 91901},
      {"op", "conv_backward_data"},
      {"tf32", true},
      {"policy", "benchmark 20"},
      {"new", 1}};
  for (const auto &[name, value] : changes)
    EXPECT_FALSE(open().find(key().add(name, value))) << name;
  // Even if it lies where the other's would be.
  const TuneKey other = key().add("driver", 13001);
  std::filesystem::copy_file(onlyFile(),
                             path("cache/tune/" + other.id() + ".json"));
  EXPECT_FALSE(open().find(other));
  EXPECT_EQ(*open().prune(""), 1u);
  EXPECT_TRUE(open().find(key()));
}

TEST_F(Tune, DamageIsIgnored) {
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  const std::string file = onlyFile();
  const std::string good = *readFile(file);
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    const size_t at = random() % bad.size();
    if (i % 3 == 0)
      bad.resize(at);
    else
      bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    std::ofstream(file, std::ios::binary) << bad;
    const auto found = open().find(key());
    // White space outside of strings does not matter; all else does.
    if (found) {
      EXPECT_TRUE(found->blob == kEntry.blob && found->engine == "35" &&
                  found->knobs == kEntry.knobs)
          << bad;
    }
  }
  std::ofstream(file, std::ios::binary) << "{\"format\":\"dlc-tune\"}";
  EXPECT_FALSE(open().find(key()));
  EXPECT_NE((*open().list())[0].problem, "");
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  EXPECT_TRUE(open().find(key()));
}

TEST_F(Tune, ReadOnlyWritesNothing) {
  ASSERT_TRUE(open(TuneCache::Mode::ReadOnly).store(key(), kEntry).ok());
  EXPECT_FALSE(exists(path("cache")));
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  EXPECT_TRUE(open(TuneCache::Mode::ReadOnly).find(key()));
  EXPECT_EQ(open(TuneCache::Mode::ReadOnly).prune("3").status().code(),
            Code::Usage);
  auto none = TuneCache::open("");
  ASSERT_TRUE(none->store(key(), kEntry).ok());
  EXPECT_FALSE(none->find(key()));
}

TEST_F(Tune, IsPrivate) {
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(path("cache")).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(path("cache/tune")).permissions(), fs::perms::owner_all);
  fs::permissions(path("cache/tune"), fs::perms::others_write,
                  fs::perm_options::add);
  EXPECT_EQ(TuneCache::open(path("cache")).status().message(),
            "others may write to the cache '" + path("cache") +
                "/tune': its rights are 702, expected 700");
  std::ofstream(path("file")) << "x";
  EXPECT_EQ(TuneCache::open(path("file")).status().code(), Code::Incompatible);
}

TEST_F(Tune, AFullDiskLeavesTheOldEntry) {
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 12, 1 << 12};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    TuneEntry big = kEntry;
    big.blob.assign(1 << 16, 'x');
    const Status status = open().store(key(), big);
    const bool said =
        status.message().find("cannot write") == 0 &&
        status.message().find(path("cache/tune")) != std::string::npos;
    ::_exit(said ? 0 : 1);
  }
  int result = -1;
  ::waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(open().find(key())->blob, kEntry.blob);
  EXPECT_EQ(open().list()->size(), 1u) << "nothing unfinished stays";
}

TEST_F(Tune, PruneRemovesTheOldAndTheUnfinished) {
  TuneEntry old = kEntry;
  old.date = "2020-01-01T00:00:00Z";
  ASSERT_TRUE(open().store(key(), kEntry).ok());
  ASSERT_TRUE(open().store(key().add("sm", 80), old).ok());
  std::ofstream(path("cache/tune/abc.json")) << "x";
  EXPECT_EQ(open().list()->size(), 3u);
  EXPECT_EQ(*open().prune("2025"), 2u);
  EXPECT_TRUE(open().find(key()));
  EXPECT_FALSE(open().find(key().add("sm", 80)));
}

TEST(CacheFolder, HasAnOrder) {
  ::setenv("HOME", "/h", 1);
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("DLC_CACHE_DIR");
  EXPECT_EQ(cacheFolder(""), "/h/.cache/dlc");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(cacheFolder(""), "/x/dlc");
  ::setenv("DLC_CACHE_DIR", "/d", 1);
  EXPECT_EQ(cacheFolder(""), "/d");
  EXPECT_EQ(cacheFolder("/f"), "/f");
  ::unsetenv("DLC_CACHE_DIR");
}

// Two processes write and read a few keys until they are killed, again and
// again: at every moment each entry is whole and that of its key.
// DLC_TUNE_ROUNDS=500 for the full count.
TEST_F(Tune, SurvivesKills) {
  const char *given = std::getenv("DLC_TUNE_ROUNDS");
  const int rounds = given ? std::atoi(given) : 40;
  const auto keyOf = [](unsigned i) { return key().add("n", i); };
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    const TuneCache cache = open();
    for (;;) {
      const unsigned i = random() % 8;
      TuneEntry entry = kEntry;
      entry.workspace = i;
      entry.blob.assign(random() % 20'000, static_cast<char>(i));
      if (!cache.store(keyOf(i), entry).ok())
        ::_exit(1);
      const auto found = cache.find(keyOf(random() % 8));
      if (found && found->blob.find_first_not_of(static_cast<char>(
                       found->workspace)) != std::string::npos)
        ::_exit(2);
    }
  };
  std::mt19937 random(3);
  int kills = 0;
  size_t whole = 0, unfinishedFiles = 0;
  for (int round = 0; round < rounds; ++round) {
    pid_t children[2];
    for (pid_t &child : children)
      if (const unsigned seed = random(); (child = ::fork()) == 0)
        work(seed);
    for (pid_t child : children) {
      ::usleep(1000 + random() % 12'000);
      ::kill(child, SIGKILL);
    }
    for (pid_t child : children) {
      int result = 0;
      ::waitpid(child, &result, 0);
      EXPECT_TRUE(WIFSIGNALED(result)) << "round " << round << ": " << result;
      kills += WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL;
    }
    const auto items = open().list();
    ASSERT_TRUE(items.ok());
    for (const TuneCache::Item &item : *items) {
      const bool unfinished = item.path.find(".tmp-") != std::string::npos;
      EXPECT_TRUE(unfinished || item.problem.empty())
          << item.path << ": " << item.problem;
      ++(unfinished ? unfinishedFiles : whole);
    }
  }
  fmt::print("{} rounds, {} kills; after them {} entries were whole, {} files "
             "unfinished\n",
             rounds, kills, whole, unfinishedFiles);
  EXPECT_TRUE(open().prune("").ok());
  const auto items = open().list();
  ASSERT_TRUE(items.ok());
  EXPECT_GT(items->size(), 0u);
  for (unsigned i = 0; i < 8; ++i)
    if (const auto found = open().find(keyOf(i))) {
      EXPECT_EQ(found->workspace, i);
    }
}

TEST(TuneChoices, AreThoseOfTheOtherRank) {
  TuneChoices first, second;
  const TuneKey other = key().add("op", "matmul");
  first.add(key(), kEntry, "conv of '/a'");
  first.add(other, std::nullopt, "matmul of '/b'");
  first.addCommand(key(), "conv of '/c'");
  first.addCommand(key(), "conv of '/a'");
  TuneEntry slow = kEntry, never = kEntry;
  slow.milliseconds *= 2;
  never.milliseconds = std::numeric_limits<double>::infinity();
  first.addMeasured(key(), {never, slow, kEntry});
  EXPECT_EQ(second.find(key()), nullptr);
  ASSERT_TRUE(second.adopt(first.toText()).ok());
  EXPECT_TRUE(second.areAdopted());
  EXPECT_FALSE(first.areAdopted());
  ASSERT_TRUE(second.find(key()) && *second.find(key()));
  EXPECT_EQ((*second.find(key()))->blob, kEntry.blob);
  EXPECT_EQ((*second.find(key()))->knobs, kEntry.knobs);
  ASSERT_TRUE(second.find(other));
  EXPECT_FALSE(*second.find(other)) << "the library's first choice";
  EXPECT_EQ(second.toText(), first.toText());
  const Json said = first.describe();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0]["commands"], (Json{"conv of '/a'", "conv of '/c'"}));
  EXPECT_EQ(said[0]["op"], "conv");
  EXPECT_EQ(said[0]["engine"], kEntry.engine);
  EXPECT_EQ(said[0]["milliseconds"], kEntry.milliseconds);
  ASSERT_EQ(said[0]["measured"].size(), 2u);
  EXPECT_EQ(said[0]["measured"][0]["number"], 2);
  EXPECT_EQ(said[0]["measured"][0]["milliseconds"], kEntry.milliseconds);
  EXPECT_EQ(said[0]["measured"][1]["number"], 1);
  EXPECT_FALSE(said[1].contains("measured"));
  EXPECT_FALSE(second.describe()[0].contains("measured"))
      << "another rank measured";
  EXPECT_EQ(said[1]["commands"], Json{"matmul of '/b'"});
  EXPECT_EQ(said[1]["engine"], nullptr);
  std::string torn = first.toText();
  torn[torn.find("knobs") + 12] ^= 1;
  EXPECT_FALSE(TuneChoices().adopt(torn).ok());
  EXPECT_FALSE(TuneChoices().adopt("{}").ok());
  EXPECT_FALSE(TuneChoices().adopt("[{\"entry\":\"\"}]").ok());
  EXPECT_FALSE(TuneChoices().adopt("[{\"entry\":\"\",\"key\":{}}]").ok());
  EXPECT_FALSE(TuneChoices()
                   .adopt("[{\"entry\":\"\",\"key\":{},\"commands\":[1]}]")
                   .ok());
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// dlc-data as another program sees it: what it is asked, how often, and what
// becomes of its errors. A script stands for it.
#include "runtime/base/files/Files.h"
#include "runtime/data/Source.h"
#include "runtime/data/spool/Spool.h"
#include "test/unit/TempFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <thread>

using namespace dlc;

namespace {

class Spools : public TempFolder {
public:
  void SetUp() override {
    TempFolder::SetUp();
    cache_ = path("cache");
    ::setenv("DLC_DATA_PROGRAM", path("program").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("DLC_DATA_PROGRAM");
    TempFolder::TearDown();
  }

  // Counts its calls, and keeps its words.
  void program(const std::string &body) {
    std::ofstream(path("program"))
        << "#!/bin/sh\necho \"$@\" >> '" << path("calls") << "'\n"
        << "for word; do case $word in --output=*) out=${word#--output=};; "
           "esac; done\n"
        << body << "\n";
    ::chmod(path("program").c_str(), 0755);
  }
  std::string calls() const {
    return readFile(path("calls")).ok() ? *readFile(path("calls")) : "";
  }
  static SpoolJob job() {
    return {.data = "a b.csv",
            .command = "rows",
            .words = {"--columns=x:a;y:$(b)"},
            .places = {"--name=a b.csv"},
            .files = {"a b.csv"},
            .content = "17",
            .ending = ".txt"};
  }

  std::string cache_;
};

TEST_F(Spools, RunsOnceAsAListOfWords) {
  program("echo made > \"$out\"");
  const auto first = spool(cache_, job());
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(*readFile((*first)->path()), "made\n");
  EXPECT_EQ(calls(), fmt::format("--format=1 rows --columns=x:a;y:$(b) "
                                 "--name=a b.csv --output={} -- a b.csv\n",
                                 (*first)->path()));
  EXPECT_EQ((*spool(cache_, job()))->path(), (*first)->path());
  EXPECT_EQ(calls().find("--format=1", 1), std::string::npos);
  // What its result depends on: not the files' names.
  SpoolJob other = job();
  other.places[0] = "--name=c.csv", other.files[0] = "c.csv";
  EXPECT_EQ((*spool(cache_, other))->path(), (*first)->path());
  other.content = "18";
  EXPECT_NE((*spool(cache_, other))->path(), (*first)->path());
  other = job(), other.words[0] = "--columns=x:b";
  EXPECT_NE((*spool(cache_, other))->path(), (*first)->path());
}

TEST_F(Spools, ErrorsAreWhatItSays) {
  program("echo progress >&2; echo 'error: row 3' >&2; exit 1");
  EXPECT_EQ(spool(cache_, job()).status().message(), "row 3");
  EXPECT_EQ(spool(cache_, job()).status().code(), Code::Failed);
  program("echo 'error: no such flag' >&2; exit 2");
  EXPECT_EQ(spool(cache_, job()).status().code(), Code::Usage);
  program("exit 7");
  EXPECT_NE(spool(cache_, job()).status().message().find("exit code 7"),
            std::string::npos);
  program("exit 0");
  EXPECT_NE(spool(cache_, job()).status().message().find("produced no file"),
            std::string::npos);
  program("echo made > \"$out\"");
  EXPECT_TRUE(spool(cache_, job()).ok());
}

TEST_F(Spools, OneProcessMakesAndOthersWait) {
  program("sleep 0.3; echo made > \"$out\"");
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] { EXPECT_TRUE(spool(cache_, job()).ok()); });
  for (std::thread &one : all)
    one.join();
  EXPECT_EQ(calls().find("--format=1", 1), std::string::npos);
  // Who does not wait so long makes it for itself.
  program("sleep 1; echo made > \"$out\"");
  SpoolJob other = job();
  other.content = "18", other.wait = std::chrono::milliseconds(50);
  std::thread first([&] { EXPECT_TRUE(spool(cache_, other).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto own = spool(cache_, other);
  first.join();
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ((*own)->path().find(cache_), std::string::npos);
}

TEST_F(Spools, WithoutACacheAFileGoesWithItsOwner) {
  program("echo made > \"$out\"");
  auto made = spool("", job());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string path = (*made)->path();
  EXPECT_TRUE(exists(path));
  *made = nullptr;
  EXPECT_FALSE(exists(path));
}

TEST_F(Spools, OthersMustNotHaveWrittenIt) {
  program("echo made > \"$out\"");
  ASSERT_TRUE(makeFolder(cache_, 0777).ok());
  ASSERT_EQ(::chmod(cache_.c_str(), 0777), 0);
  EXPECT_EQ(spool(cache_, job()).status().code(), Code::Incompatible);
  EXPECT_EQ(calls(), "");
}

TEST_F(Spools, SaysHowToGetTheProgram) {
  ::setenv("DLC_CACHE_DIR", cache_.c_str(), 1);
  ::unsetenv("DLC_DATA_PROGRAM");
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  std::ofstream(path("a.csv")) << "x,y\n1,2\n";
  // Beside the program of this test there may be one.
  if (const auto program = findDataProgram("x"); !program.ok()) {
    const Status status = openSource(path("a.csv"), {}).status();
    EXPECT_EQ(status.code(), Code::Usage);
    EXPECT_NE(status.message().find(
                  "a.csv' is read by dlc-data: pip install 'dlc[data]'"),
              std::string::npos);
  }
  ::setenv("PATH", before.c_str(), 1);
  ::unsetenv("DLC_CACHE_DIR");
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// runtime/base/files/Atomic.h: what replaces, what is refused, what is cleaned
// up.
#include "test/unit/TempFolder.h"

#include <csignal>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

using namespace dlc;
namespace fs = std::filesystem;

namespace {

class Atomic : public TempFolder {
protected:
  void SetUp() override { umask_ = ::umask(022); }
  void TearDown() override { ::umask(umask_); }

  static mode_t rights(const std::string &path) {
    struct stat info = {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  static Status replace(const std::string &path, const std::string &content) {
    DLC_ASSIGN(auto folder, AtomicDirectory::create(path));
    DLC_TRY(writeNewFile(folder.folder() + "/file", content));
    return folder.commit();
  }
  // A file or folder with the name of a temporary one, and no owner.
  std::string leftover() {
    leaveUnfinished(path("a"));
    for (const auto &entry : fs::directory_iterator(path("")))
      if (entry.path().string().find("a.tmp-") != std::string::npos)
        return entry.path();
    return "";
  }

private:
  mode_t umask_ = 0;
};

TEST_F(Atomic, FileReplaces) {
  ASSERT_TRUE(writeFileAtomically(path("a"), "one").ok());
  ASSERT_TRUE(writeFileAtomically(path("a"), "two").ok());
  EXPECT_EQ(*readFile(path("a")), "two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Atomic, FileHasTheRightsOfTheUmaskOrOfTheOld) {
  ASSERT_TRUE(writeFileAtomically(path("a"), "one").ok());
  EXPECT_EQ(rights(path("a")), 0644u);
  fs::permissions(path("a"), fs::perms(0640));
  ASSERT_TRUE(writeFileAtomically(path("a"), "two").ok());
  EXPECT_EQ(rights(path("a")), 0640u);
  ::umask(077);
  ASSERT_TRUE(writeFileAtomically(path("b"), "one").ok());
  EXPECT_EQ(rights(path("b")), 0600u);
}

TEST_F(Atomic, UncommittedFileLeavesNothing) {
  { ASSERT_TRUE(AtomicFile::create(path("a"))->writer().write("x").ok()); }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Atomic, OnlyAFileIsReplacedByAFile) {
  ASSERT_TRUE(writeNewFile(path("target"), "keep me").ok());
  fs::create_symlink(path("target"), path("link"));
  fs::create_symlink(path("nothing"), path("dangling"));
  ::mkfifo(path("fifo").c_str(), 0600);
  fs::create_directory(path("folder"));
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{AF_UNIX, {}};
  path("socket").copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr *>(&name), sizeof name),
            0);
  for (auto [target, kind] : {std::pair(path("link"), "a symbolic link"),
                              {path("dangling"), "a symbolic link"},
                              {path("fifo"), "a FIFO"},
                              {path("folder"), "a folder"},
                              {path("socket"), "a socket"},
                              {std::string("/dev/null"), "a device"}}) {
    EXPECT_EQ(writeFileAtomically(target, "x").message(),
              fmt::format("'{}' exists and is {}, expected a file or nothing",
                          target, kind));
    if (kind != std::string("a folder")) {
      EXPECT_EQ(replace(target, "x").message(),
                fmt::format("'{}' exists and is {}, expected a folder or "
                            "nothing",
                            target, kind));
      EXPECT_EQ(kindOfFile(target), kind);
    }
  }
  EXPECT_EQ(*readFile(path("target")), "keep me");
  ::close(listener);
}

TEST_F(Atomic, NewFilesFollowNoLink) {
  fs::create_symlink(path("target"), path("link"));
  EXPECT_FALSE(writeNewFile(path("link"), "x").ok());
  EXPECT_FALSE(exists(path("target")));
}

TEST_F(Atomic, FolderReplacesAndKeepsRights) {
  ASSERT_TRUE(replace(path("a/"), "one").ok());
  EXPECT_EQ(rights(path("a")), 0755u);
  fs::permissions(path("a"), fs::perms(0750));
  ASSERT_TRUE(replace(path("a"), "two").ok());
  EXPECT_EQ(*readFile(path("a/file")), "two");
  EXPECT_EQ(rights(path("a")), 0750u);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Atomic, LastFolderOfTwoWins) {
  auto one = AtomicDirectory::create(path("a")),
       two = AtomicDirectory::create(path("a"));
  ASSERT_TRUE(writeNewFile(one->folder() + "/1", "").ok());
  ASSERT_TRUE(writeNewFile(two->folder() + "/2", "").ok());
  EXPECT_TRUE(one->commit().ok());
  EXPECT_TRUE(two->commit().ok());
  EXPECT_TRUE(exists(path("a/2")) && !exists(path("a/1")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Atomic, FolderNeedsAName) {
  for (std::string name : {"/", ".", "..", "", "//"})
    EXPECT_FALSE(AtomicDirectory::create(name).ok()) << name;
  for (std::string name : {"a/.", "a/..", "a/../"})
    EXPECT_FALSE(AtomicDirectory::create(path(name)).ok()) << name;
  fs::create_directory(path("target"));
  fs::create_directory_symlink(path("target"), path("link"));
  EXPECT_FALSE(AtomicDirectory::create(path("link/")).ok());
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Atomic, LongNamesFit) {
  const std::string name(255, 'n');
  ASSERT_TRUE(writeFileAtomically(path(name), "x").ok());
  leaveUnfinished(path(std::string(255, 'm')));
  EXPECT_EQ(entries(), 2u);
  removeStale(path(""));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Atomic, LeftoversOfTheDeadAreRemoved) {
  EXPECT_NE(leftover(), "");
  ASSERT_TRUE(writeFileAtomically(path("b"), "x").ok());
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Atomic, WhatTheLivingMakeStays) {
  auto folder = AtomicDirectory::create(path("a"));
  auto file = AtomicFile::create(path("b"));
  const pid_t child = ::fork(); // also one that knows nothing of its parent
  if (child == 0) {
    removeStale(path(""));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  removeStale(path(""));
  EXPECT_EQ(entries(), 2u);
  EXPECT_TRUE(file->writer().write("x").ok() && file->commit().ok());
  EXPECT_TRUE(folder->commit().ok());
}

TEST_F(Atomic, NothingElseIsRemoved) {
  const std::string left = leftover();
  std::string wrong = left;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (std::string name : {left + "-backup", wrong, path("a.tmp-4000000"),
                           path("a.tmp-4000000-backup"),
                           path("x") + left.substr(path("").size())}) {
    fs::create_directory(name);
    ASSERT_TRUE(writeNewFile(name + "/mine", "keep me").ok());
  }
  removeStale(path(""));
  EXPECT_FALSE(exists(left));
  EXPECT_EQ(entries(), 5u);
  fs::create_directory_symlink(wrong, left);
  removeStale(path(""));
  EXPECT_TRUE(exists(left) && exists(wrong + "/mine"));
}

TEST_F(Atomic, TemporaryFolderIsPrivateAndGoes) {
  ::setenv("TMPDIR", path("").c_str(), 1);
  {
    auto folder = TemporaryFolder::create("dlc-test");
    ASSERT_TRUE(folder.ok());
    EXPECT_EQ(rights(folder->path()), 0700u);
    ASSERT_TRUE(makeFolder(folder->path() + "/a/b").ok());
    EXPECT_EQ(entries(), 1u);
  }
  EXPECT_EQ(entries(), 0u);
  ::setenv("TMPDIR", path("none").c_str(), 1);
  EXPECT_FALSE(TemporaryFolder::create("dlc-test").ok());
  ::unsetenv("TMPDIR");
}

// A process replaces a folder and a file until it is killed, again and again.
TEST_F(Atomic, SurvivesKills) {
  for (int round = 0; round < 60; ++round) {
    const pid_t child = ::fork();
    if (child == 0)
      for (std::string content;; content += "x")
        if (!replace(path("a"), content).ok() ||
            !writeFileAtomically(path("b"), "b" + content).ok())
          ::_exit(1);
    ::usleep(1000 + 137 * unsigned(round));
    ::kill(child, SIGKILL);
    int result = 0;
    ::waitpid(child, &result, 0);
    ASSERT_TRUE(WIFSIGNALED(result));
    EXPECT_TRUE(!exists(path("a")) || readFile(path("a/file")).ok());
    EXPECT_TRUE(!exists(path("b")) || readFile(path("b"))->front() == 'b');
    EXPECT_LE(entries(), 3u) << "one that is unfinished at most";
  }
  EXPECT_TRUE(replace(path("a"), "x").ok());
  EXPECT_TRUE(writeFileAtomically(path("b"), "x").ok());
  EXPECT_EQ(entries(), 2u);
}

} // namespace

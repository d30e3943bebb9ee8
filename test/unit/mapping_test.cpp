// SPDX-License-Identifier: Apache-2.0
// runtime/base/files/Mapping: files that shrink while they are mapped, and what
// is no file. Each case is a process of its own: what was torn stays so.
#include "runtime/base/files/Files.h"
#include "runtime/base/files/MappedFile.h"
#include "test/unit/TempFolder.h"

#include <csignal>
#include <functional>
#include <numeric>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dlc;

namespace {

constexpr uint64_t kBytes = 1 << 20;

class Mapping : public TempFolder {
protected:
  std::string file(const std::string &name) const {
    EXPECT_TRUE(writeNewFile(path(name), std::string(kBytes, 'x')).ok());
    return path(name);
  }
};

uint64_t sumOf(const MappedFile &file) {
  return std::accumulate(file.text().begin(), file.text().end(), uint64_t(0));
}

// Whether `body` returns true in a child process.
bool inChild(const std::function<bool()> &body) {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(Mapping, MissingPagesAreZerosAndAnError) {
  const std::string whole = file("whole"), cut = file("cut");
  EXPECT_TRUE(inChild([&] {
    auto a = MappedFile::open(whole), b = MappedFile::open(cut);
    if (::truncate(cut.c_str(), kBytes / 2) != 0)
      return false;
    const bool fine = sumOf(*a) == 'x' * kBytes && mappedFilesStatus().ok();
    const uint64_t half = sumOf(*b);
    const Status status = mappedFilesStatus();
    return fine && half == 'x' * (kBytes / 2) &&
           status.code() == Code::Failed &&
           status.message().find(cut) != std::string::npos &&
           sumOf(*a) == 'x' * kBytes;
  }));
}

TEST_F(Mapping, TheErrorOutlivesTheFile) {
  const std::string cut = file("cut");
  EXPECT_TRUE(inChild([&] {
    {
      auto mapped = MappedFile::open(cut);
      if (::truncate(cut.c_str(), 0) != 0 || sumOf(*mapped) != 0)
        return false;
    }
    const Status status = writeFileAtomically(cut + "-made-of-it", "zeros");
    return status.message().find("'" + cut + "' became shorter") !=
           std::string::npos;
  }));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Mapping, SeveralThreadsAtOnce) {
  const std::string cut = file("cut");
  EXPECT_TRUE(inChild([&] {
    auto mapped = MappedFile::open(cut);
    if (::truncate(cut.c_str(), 5000) != 0)
      return false;
    std::vector<std::thread> threads;
    std::atomic<uint64_t> sum = 0;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] { sum += sumOf(*mapped); });
    for (std::thread &thread : threads)
      thread.join();
    return sum == 8 * 'x' * 5000 && !mappedFilesStatus().ok();
  }));
}

TEST_F(Mapping, OtherBusErrorsEndTheProcess) {
  const std::string cut = file("cut");
  const pid_t child = ::fork();
  if (child == 0) {
    auto mapped = MappedFile::open(cut); // handles SIGBUS from now on
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(20);
    ::raise(SIGBUS);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
}

TEST_F(Mapping, WhatIsNoFileIsSaidAtOnce) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(
      ::bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address),
      0);
  for (const auto &[name, kind] :
       std::vector<std::pair<std::string, std::string>>{
           {path("fifo"), "a FIFO"},
           {path("socket"), "a socket"},
           {path(""), "a folder"},
           {"/dev/zero", "a device"},
           {"/dev/null", "a device"}})
    for (const Status &status :
         {MappedFile::open(name).status(), readFile(name).status()}) {
      EXPECT_EQ(status.code(), Code::Failed);
      EXPECT_NE(status.message().find(kind + ", expected a file"),
                std::string::npos)
          << status.message();
    }
  ::close(listener);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// runtime/collective: a rank whose transport hangs leaves all the same.
#include "runtime/collective/Communicator.h"
#include "test/support/FreePort.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dlc;
using namespace std::chrono_literals;

namespace {

// A rank whose transport hangs, too: its thread that would end the waits, or
// close the connections, waits for Gloo's.
TEST(StuckRank, LeavesThoughItsTransportHangs) {
  const auto place = meetHere(2);
  ASSERT_TRUE(place.ok()) << place.status().message();
  Rendezvous meeting = *place;
  meeting.timeout = 10s;
  meeting.silence = 500ms;
  const pid_t child = ::fork();
  if (child == 0) {
    meeting.rank = 1;
    auto ranks = makeGlooCommunicator(meeting);
    if (!ranks.ok())
      ::_exit(1);
    (*ranks)->setLeave([](const Status &) { ::_exit(42); });
    std::set<pid_t> threads; // this one, Gloo's, and those that need it
    for (const auto &thread :
         std::filesystem::directory_iterator("/proc/self/task"))
      threads.insert(std::stoi(thread.path().filename()));
    std::signal(SIGUSR2, [](int) {
      for (;;)
        ::pause();
    });
    ::syscall(SYS_tgkill, ::getpid(), *std::next(threads.begin()), SIGUSR2);
    float value = 1;
    (void)(*ranks)->allReduce(&value, 1, DType::F32, ReduceOp::Sum).ok();
    for (;;)
      ::pause();
  }
  {
    auto ranks = makeGlooCommunicator(meeting);
    EXPECT_TRUE(ranks.ok()) << ranks.status().message();
    std::this_thread::sleep_for(300ms);
    (*ranks)->abandon();
  }
  int status = 0;
  for (int i = 0; i < 500 && ::waitpid(child, &status, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, WNOHANG);
}

} // namespace

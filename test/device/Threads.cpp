// SPDX-License-Identifier: Apache-2.0
// Threads that the system does not have, and those of a forked process.
#include "runtime/device/cpu/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc {
namespace {

TEST(ThreadPool, MoreThanThereAreIsALimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs memory of its own";
#endif
  EXPECT_TRUE(Threads(3).check().ok());
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  rlimit none = old;
  none.rlim_cur = 1 << 20; // less than is mapped already: no stacks
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  const Status status = Threads(64).check();
  ::setrlimit(RLIMIT_AS, &old);
  EXPECT_EQ(status.code(), Code::Limit);
  EXPECT_TRUE(status.message().starts_with("64 threads: ")) << status.message();
}

// Of the pool's threads, a child has only the one that forked.
TEST(ThreadPool, WorksOnBothSidesOfAFork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "TSan does not know a forked process's threads";
#endif
  const auto count = [] {
    std::atomic<int> parts = 0;
    Threads(3).parallelFor(3, 1, [&](int64_t, int64_t) { ++parts; });
    return parts.load();
  };
  EXPECT_EQ(count(), 3);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20); // instead of waiting forever
    ::_exit(count());
  }
  EXPECT_EQ(count(), 3);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

} // namespace
} // namespace dlc

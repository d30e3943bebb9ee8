// SPDX-License-Identifier: Apache-2.0
// Threads that the system does not have.
#include "runtime/device/cpu/ThreadPool.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

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

} // namespace
} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/Leftovers.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Granted.h"
#include "runtime/base/process/Parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <thread>

namespace dlc {
namespace {

template <class E> Status thrown(E exception) {
  return guarded("counting", [&]() -> Status { throw exception; });
}

TEST(Boundary, WhatIsShortIsALimit) {
  EXPECT_EQ(thrown(std::bad_alloc()).code(), Code::Limit);
  EXPECT_EQ(thrown(std::length_error("vector")).code(), Code::Limit);
  const Status sized = thrown(OutOfMemory(12345));
  EXPECT_EQ(sized.code(), Code::Limit);
  EXPECT_EQ(sized.message(),
            "counting: out of memory: 12345 bytes were asked for");
  for (int number : {EAGAIN, ENOMEM, EMFILE})
    EXPECT_EQ(thrown(std::system_error(number, std::generic_category())).code(),
              Code::Limit);
}

TEST(Boundary, AnythingElseFails) {
  EXPECT_EQ(thrown(std::runtime_error("seven\x1b[2J")).code(), Code::Failed);
  EXPECT_EQ(thrown(std::runtime_error("seven\x1b[2J")).message(),
            "counting: seven\\x1b[2J");
  EXPECT_EQ(thrown(7).code(), Code::Failed);
  EXPECT_EQ(thrown(std::system_error(EIO, std::generic_category())).code(),
            Code::Failed);
}

TEST(Boundary, TheCallerNamesTheOtherCode) {
  const Status status = []() -> Status {
    try {
      throw std::out_of_range("7");
    } catch (...) {
      return caughtException("model", Code::BadModel);
    }
  }();
  EXPECT_EQ(status.code(), Code::BadModel);
}

TEST(Boundary, ValuesPass) {
  const Result<int> seven = guarded("", []() -> Result<int> { return 7; });
  ASSERT_TRUE(seven.ok());
  EXPECT_EQ(*seven, 7);
}

// A process that may have no more threads says so.
TEST(Boundary, ThreadsThatCannotStart) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs memory of its own";
#endif
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  rlimit none = old;
  none.rlim_cur = 1 << 20; // less than is mapped already
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  const Status status = guarded("the loader", []() -> Status {
    std::jthread([] {});
    return {};
  });
  ::setrlimit(RLIMIT_AS, &old);
  EXPECT_EQ(status.code(), Code::Limit) << status.message();
}

TEST(Leftovers, RemovesWhatIsHeld) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("dlc-leftovers-" + std::to_string(::getpid()));
  const auto make = [&](const char *name) {
    std::filesystem::create_directories(folder / name / "inner");
    return (folder / name).string();
  };
  {
    Leftover held(make("held")), done(make("done"));
    Leftover moved = std::move(held);
    done.forget();
    removeLeftovers();
    EXPECT_FALSE(std::filesystem::exists(folder / "held"));
    EXPECT_TRUE(std::filesystem::exists(folder / "done"));
    make("held");
  }
  removeLeftovers();
  EXPECT_TRUE(std::filesystem::exists(folder / "held"));
  std::filesystem::remove_all(folder);
}

TEST(Memory, MoreThanThereIsIsALimit) {
  EXPECT_GT(availableMemory(), uint64_t(1) << 20);
  EXPECT_TRUE(checkMemory(1 << 20, "little").ok());
  const Status status = checkMemory(uint64_t(100) << 40, "the model");
  EXPECT_EQ(status.code(), Code::Limit);
  EXPECT_TRUE(
      status.message().starts_with("the model needs 100 TiB of memory, "))
      << status.message();
}

TEST(Parallel, AllTakeTheirShare) {
  std::atomic<int> next = 0, sum = 0;
  runTogether(4, [&] {
    for (int i; (i = next++) < 100;)
      sum += i;
  });
  EXPECT_EQ(sum, 4950);
}

TEST(Parallel, AnErrorReachesTheCaller) {
  for (size_t count : {1, 3})
    EXPECT_THROW(runTogether(count, [] { throw std::bad_alloc(); }),
                 std::bad_alloc);
}

} // namespace
} // namespace dlc

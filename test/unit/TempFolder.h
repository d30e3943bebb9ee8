// SPDX-License-Identifier: Apache-2.0
// A test that gets an empty folder, removed when it ends.
#pragma once

#include "runtime/base/files/Atomic.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

// What a process that is killed while it makes the folder `path` leaves.
inline void leaveUnfinished(const std::string &path) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto folder = dlc::AtomicDirectory::create(path);
    ::_exit(folder.ok() ? 0 : 1);
  }
  int result = 0;
  ::waitpid(child, &result, 0);
  ASSERT_EQ(result, 0);
}

class TempFolder : public testing::Test {
protected:
  TempFolder() {
    auto base = std::filesystem::temp_directory_path() / "dlc-unit-XXXXXX";
    std::string name = base.string();
    folder_ = mkdtemp(name.data());
  }
  ~TempFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string &name) const {
    return folder_ + "/" + name;
  }
  size_t entries() const {
    using Iterator = std::filesystem::directory_iterator;
    return static_cast<size_t>(std::distance(Iterator(folder_), Iterator()));
  }

private:
  std::string folder_;
};

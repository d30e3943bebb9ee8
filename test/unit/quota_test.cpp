// SPDX-License-Identifier: Apache-2.0
// runtime/base/process/Quota: what control groups grant, from files like
// theirs.
#include "runtime/base/process/Granted.h"
#include "runtime/base/process/Parallel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace dlc;
namespace fs = std::filesystem;

namespace {

class Quota : public testing::Test {
protected:
  Quota() { fs::create_directories(root); }
  ~Quota() override { fs::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  }
  std::optional<double> cores(const std::string &membership) {
    return coresOfQuota(root, membership);
  }

  const fs::path root =
      fs::temp_directory_path() / ("quota-" + std::to_string(::getpid()));
};

TEST_F(Quota, OfVersion2) {
  write("a/b/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(cores("0::/a/b\n").value(), 1.5);
}

TEST_F(Quota, NoneIsSaid) {
  write("a/cpu.max", "max 100000");
  EXPECT_FALSE(cores("0::/a\n"));
  EXPECT_FALSE(cores("0::/elsewhere\n"));
  EXPECT_FALSE(cores(""));
  EXPECT_FALSE(cores("no group at all"));
}

TEST_F(Quota, TheLeastOfTheGroupsAroundCounts) {
  write("a/cpu.max", "200000 100000");
  write("a/b/cpu.max", "400000 100000");
  EXPECT_DOUBLE_EQ(cores("0::/a/b").value(), 2);
}

TEST_F(Quota, OfAContainerWhosePathIsTheHosts) {
  write("cpu.max", "50000 100000");
  EXPECT_DOUBLE_EQ(cores("0::/docker/0123\n").value(), 0.5);
}

TEST_F(Quota, OfVersion1) {
  write("cpu/job/cpu.cfs_quota_us", "300000");
  write("cpu/job/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(cores("5:memory:/x\n4:cpu,cpuacct:/job\n").value(), 3);
  EXPECT_DOUBLE_EQ(cores("4:cpu:/job\n").value(), 3);
  EXPECT_DOUBLE_EQ(cores("4:cpuacct,cpu:/job\n").value(), 3);
  EXPECT_FALSE(cores("4:cpuset:/job\n"));
}

TEST_F(Quota, OfVersion1WithoutOne) {
  write("cpu/job/cpu.cfs_quota_us", "-1");
  write("cpu/job/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(cores("4:cpu:/job\n"));
}

TEST(Cores, AreWholeOnesOfTheQuota) {
  EXPECT_EQ(coresWithin(8, std::nullopt), 8);
  EXPECT_EQ(coresWithin(8, 3.5), 3);
  EXPECT_EQ(coresWithin(8, 2.999), 3);
  EXPECT_EQ(coresWithin(2, 16), 2);
  EXPECT_EQ(coresWithin(4, 0.5), 1);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// runtime/collective/launch: Slurm's lists of hosts, and of tasks on them.
#include "runtime/collective/launch/Variables.h"

#include <gtest/gtest.h>

using namespace dlc;

namespace {

TEST(Nodes, Lists) {
  using Hosts = std::vector<std::string>;
  const std::vector<std::pair<std::string, Hosts>> cases = {
      {"node1", {"node1"}},
      {"node[01-03,7]", {"node01", "node02", "node03", "node7"}},
      {"a,b[2-3]c,d", {"a", "b2c", "b3c", "d"}},
      {"r[1-2]n[08-10]",
       {"r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"}},
      {"[1-2]x", {"1x", "2x"}},
      {"node[098-101]", {"node098", "node099", "node100", "node101"}},
  };
  for (const auto &[list, hosts] : cases) {
    const auto found = expandNodes("LIST", list);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(*found, hosts) << list;
  }
}

TEST(Nodes, WhatIsNoListIsRefused) {
  for (const char *list : {"",
                           ",",
                           "a,",
                           ",a",
                           "a,,b",
                           "n[",
                           "n]",
                           "n[]",
                           "n[1",
                           "n[1-]",
                           "n[-1]",
                           "n[2-1]",
                           "n[1,]",
                           "n[a-b]",
                           "n[[1]]",
                           "n[1-2-3]",
                           "a b",
                           "n[1 -2]",
                           "n[1-99999999]",
                           "n[1-400]m[1-400]",
                           "n[99999999999999999999]"}) {
    const Status status = expandNodes("LIST", list).status();
    EXPECT_EQ(status.code(), Code::Usage) << list;
    EXPECT_NE(status.message().find("LIST is '"), std::string::npos) << list;
  }
}

TEST(Nodes, TasksOnEach) {
  EXPECT_EQ(tasksOnNode("2(x3),1", 0), 2);
  EXPECT_EQ(tasksOnNode("2(x3),1", 2), 2);
  EXPECT_EQ(tasksOnNode("2(x3),1", 3), 1);
  EXPECT_EQ(tasksOnNode("4", 0), 4);
  for (const char *text : {"", "x", "2(x", "2(x)", "0", "2(x-1)", ",", "2(x3)"})
    EXPECT_FALSE(tasksOnNode(text, 3)) << text;
}

} // namespace

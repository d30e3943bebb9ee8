// SPDX-License-Identifier: Apache-2.0
// Environment variables of launchers.
#pragma once

#include "runtime/base/Status.h"

#include <climits>
#include <optional>
#include <string>

namespace dlc {

// The first set variable of an alternative such as "A|B".
struct Variable {
  std::string name, text; // no name: none is set

  bool isSet() const { return !name.empty(); }
  std::string said() const { return name + "=" + text; }
};
Variable variable(const char *names);

// The variable as a number; empty if it is not set. Code::Usage, naming it, if
// it is not an integer from `least` to `most`.
Result<std::optional<int>> numberOf(const Variable &variable, int least,
                                    int most = INT_MAX);

// Expands Slurm's host lists, which may contain several brackets:
// "node[01-03,7],other" -> node01, node02, node03, node7, other. Code::Usage,
// naming the list as `name`, for invalid lists and for more than `most` hosts.
Result<std::vector<std::string>> expandNodes(const std::string &name,
                                             const std::string &list,
                                             size_t most = 65536);

// The tasks of the `node`th node in Slurm's list of tasks per node: "2(x3),1"
// is 2 on the first three, then 1. Empty if it is not listed.
std::optional<int> tasksOnNode(const std::string &text, int node);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// A drawing of a program, with a model's modules expanded to some depth.
#pragma once

#include "runtime/plan/graph/ProgramGraph.h"

#include <cstdint>
#include <optional>

namespace dlc::tool {

// A node of the program, or a collapsed module: `op` is then the number of its
// nodes, the name the module's, and `type` and `by` the nodes' common value, or
// "mixed".
struct DrawnNode : plan::ProgramGraph::Node {
  std::vector<std::string> scope; // enclosing modules, outermost first
  int64_t count = 1;              // nodes of the program in it
  bool isClosed() const { return closed; }
  bool closed = false;
};

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<plan::ProgramGraph::Edge> edges; // sorted by ends
  int depth = 0;
  size_t ranks = 0; // ranks that edges cross: determines Graphviz's time
};

// Modules are the prefixes of a node's name at each "/"; a state is in the
// module of its first reader. Backward parts are separate modules, and updates
// are in modules inside of a module "optimizer". The default of `depth` is the
// largest that does not exceed kMostRanks.
Drawing drawingOf(plan::ProgramGraph graph, std::optional<int64_t> depth);

// "conv1; relu1" without duplicates; the model's file becomes "added by dlc".
std::string nodesOf(const std::string &label);

constexpr size_t kMostRanks = 1200; // about a second

} // namespace dlc::tool

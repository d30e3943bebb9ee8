// SPDX-License-Identifier: Apache-2.0
// What is drawn of a program: modules of a model, open to a depth.
#pragma once

#include "runtime/plan/graph/ProgramGraph.h"

#include <cstdint>
#include <optional>

namespace dlc::tool {

// A node of the program, or a module that is closed: then its `op` counts what
// is in it, its name is the module's, and `type` and `by` are what all in it
// have, else "mixed".
struct DrawnNode : plan::ProgramGraph::Node {
  std::vector<std::string> scope; // modules around it, the outermost first
  int64_t count = 1;              // nodes of the program
  bool isClosed() const { return closed; }
  bool closed = false;
};

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<plan::ProgramGraph::Edge> edges; // by their ends
  int depth = 0;
  size_t ranks = 0; // that the edges pass: what Graphviz's time grows with
};

// Modules are what stands before the "/" of a node's name; a state is in that
// of its first reader. The backward part of a module is apart, and updates are
// in modules of a module "optimizer". Without `depth` as deep as kMostRanks
// allow.
Drawing drawingOf(plan::ProgramGraph graph, std::optional<int64_t> depth);

// "conv1; relu1", each once: what has no node is labelled by the model's file.
std::string nodesOf(const std::string &label);

constexpr size_t kMostRanks = 1200; // about a second

} // namespace dlc::tool

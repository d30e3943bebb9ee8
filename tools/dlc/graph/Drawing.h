// SPDX-License-Identifier: Apache-2.0
// A drawing of a program, with a model's modules expanded to some depth.
#pragma once

#include "runtime/base/Json.h"
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

enum class GraphColour { Precision, Placement };

// The drawing in Graphviz's language; `title` is the heading. Names from files
// are escaped.
std::string dotOf(const Drawing &drawing, GraphColour colour,
                  const std::string &title);

// Renders a program with Graphviz: returns {"drawings": [{"depth", "svg"}],
// "said"} for the page: a drawing for each depth within kMostRanks, the
// smallest first, or only for `depth`, until kMostSeconds have passed; "said"
// says why drawings are missing, with a remedy. Code::Failed if Graphviz fails;
// no drawings if it is not installed.
Result<Json> render(const plan::ProgramGraph &graph, GraphColour colour,
                    const std::string &title,
                    std::optional<int64_t> depth = {});

constexpr int kMostSeconds = 10;

} // namespace dlc::tool

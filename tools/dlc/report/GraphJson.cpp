// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/report/GraphJson.h"

#include <set>

namespace dlc::tool {

Json graphJson(const plan::ProgramGraph &graph) {
  Json nodes = Json::array(), edges = Json::array();
  for (const plan::ProgramGraph::Node &node : graph.nodes) {
    if (nodes.size() == kMostGraphNodes)
      break;
    nodes.push_back({{"name", node.name},
                     {"kind", node.op},
                     {"type", node.type},
                     {"shape", node.shape},
                     {"library", node.by == "library"}});
  }
  std::set<std::pair<int, int>> seen;
  for (const plan::ProgramGraph::Edge &edge : graph.edges)
    if (edge.from < kMostGraphNodes && edge.to < kMostGraphNodes &&
        seen.insert({edge.from, edge.to}).second)
      edges.push_back({edge.from, edge.to});
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

} // namespace dlc::tool

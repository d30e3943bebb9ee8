// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/graph/Drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dlc::tool {
namespace {

using plan::ProgramGraph;
using Kind = ProgramGraph::Kind;
using Part = ProgramGraph::Part;
using Scope = std::vector<std::string>;

constexpr size_t kDeepest = 32;

// {"h.0", "attn"} of "/h.0/attn/MatMul; /h.0/attn/Add".
Scope scopeOf(const ProgramGraph::Node &node) {
  Scope scope;
  const std::string first = node.name.substr(0, node.name.find("; "));
  for (size_t begin = 0, end; (end = first.find('/', begin)) != first.npos;
       begin = end + 1)
    if (end > begin && scope.size() < kDeepest)
      scope.push_back(first.substr(begin, end - begin));
  return scope;
}

// Assigns nodes to modules.
struct Places {
  std::vector<Scope> scopes; // by node
  std::vector<Part> parts;

  explicit Places(const ProgramGraph &graph)
      : scopes(graph.nodes.size()), parts(graph.nodes.size()), graph_(graph) {
    for (size_t i = 0; i < scopes.size(); ++i) {
      parts[i] = graph.nodes[i].part;
      if (isOp(i) && parts[i] != Part::Update)
        scopes[i] = scopeOf(graph.nodes[i]);
    }
    placeStates();
    for (int round = 0; round < 2; ++round) { // parameters, then their moments
      for (size_t i = 0; i < scopes.size(); ++i)
        if (isOp(i) && parts[i] == Part::Update && scopes[i].size() < 2)
          placeUpdate(i);
      placeStates();
    }
    // Ops that only feed another update are placed next to it; writes of
    // running statistics are placed next to their readers.
    for (auto edge = graph.edges.rbegin(); edge != graph.edges.rend(); ++edge) {
      const auto from = size_t(edge->from), to = size_t(edge->to);
      if (isOp(from) && parts[from] == Part::Update &&
          parts[to] == Part::Update && scopes[from].size() < 2)
        scopes[from] = scopes[to];
    }
    for (size_t i = 0; i < scopes.size(); ++i)
      if (const auto state = states_.find(graph.nodes[i].name);
          isOp(i) && scopes[i].empty() && state != states_.end())
        scopes[i] = state->second;
  }

private:
  bool isOp(size_t node) const { return graph_.nodes[node].kind == Kind::Op; }

  // Places states next to their first readers.
  void placeStates() {
    for (const ProgramGraph::Edge &edge : graph_.edges) {
      const auto from = size_t(edge.from), to = size_t(edge.to);
      if (graph_.nodes[from].kind != Kind::State ||
          (parts[to] == Part::Update && scopes[to].empty()) ||
          !states_.try_emplace(graph_.nodes[from].name, scopes[to]).second)
        continue;
      scopes[from] = scopes[to];
      parts[from] = parts[to];
    }
  }
  // Places an update next to those of the module whose state it writes.
  void placeUpdate(size_t node) {
    const std::string &name = graph_.nodes[node].name;
    const auto state = states_.find(name.substr(0, name.find("; ")));
    scopes[node] = {kUpdates};
    if (state == states_.end())
      return;
    const Scope &scope = state->second;
    const bool isMoment = !scope.empty() && scope.front() == kUpdates;
    scopes[node].insert(scopes[node].end(), scope.begin() + (isMoment ? 1 : 0),
                        scope.end());
  }

  static constexpr char kUpdates[] = "optimizer";
  const ProgramGraph &graph_;
  std::map<std::string, Scope> states_;
};

class Drawer {
public:
  explicit Drawer(const ProgramGraph &graph)
      : graph_(graph), places_(graph), scopes_(places_.scopes) {
    for (const Scope &scope : scopes_)
      deepest_ = std::max(deepest_, scope.size());
  }

  int deepest() const { return int(deepest_); }

  Drawing draw(int depth) const {
    Drawing drawing;
    drawing.depth = depth;
    std::map<std::string, size_t> modules;
    std::map<size_t, std::map<std::string, int64_t>> ops;
    std::vector<size_t> at(scopes_.size()); // program node -> drawn node
    for (size_t i = 0; i < scopes_.size(); ++i) {
      at[i] = drawing.nodes.size();
      if (isOpen(i, depth)) {
        drawing.nodes.push_back({graph_.nodes[i], scopes_[i]});
        drawing.nodes.back().part = places_.parts[i];
        continue;
      }
      const auto [found, fresh] =
          modules.try_emplace(keyOf(i, depth), drawing.nodes.size());
      at[i] = found->second;
      if (fresh)
        drawing.nodes.push_back(emptyModule(i, depth));
      join(drawing.nodes[at[i]], graph_.nodes[i], fresh);
      ++ops[at[i]]
           [graph_.nodes[i].kind == Kind::State ? "read" : graph_.nodes[i].op];
    }
    for (const auto &[node, counts] : ops)
      drawing.nodes[node].op = countsText(counts);
    addEdges(drawing, at);
    drawing.ranks = ranksOf(drawing);
    return drawing;
  }

private:
  bool isOpen(size_t node, int depth) const {
    return scopes_[node].size() <= size_t(depth);
  }
  std::string keyOf(size_t node, int depth) const {
    std::string key = std::to_string(int(places_.parts[node]));
    for (int i = 0; i <= depth; ++i)
      key += '/' + scopes_[node][size_t(i)];
    return key;
  }
  DrawnNode emptyModule(size_t first, int depth) const {
    DrawnNode module;
    module.part = places_.parts[first];
    module.scope.assign(scopes_[first].begin(), scopes_[first].begin() + depth);
    module.name = scopes_[first][size_t(depth)];
    module.count = 0, module.closed = true;
    return module;
  }
  static void join(DrawnNode &module, const ProgramGraph::Node &node,
                   bool first) {
    ++module.count;
    if (node.kind == Kind::State)
      return;
    const auto merge = [&](std::string &all, const std::string &one) {
      if (all.empty() || first)
        all = one;
      else if (!one.empty() && all != one)
        all = "mixed";
    };
    merge(module.type, node.type);
    merge(module.by, node.by);
  }
  // "3 conv, 2 relu, 4 more": the most frequent first.
  static std::string countsText(const std::map<std::string, int64_t> &counts) {
    std::vector<std::pair<int64_t, std::string>> sorted;
    for (const auto &[op, count] : counts)
      sorted.emplace_back(-count, op);
    std::ranges::sort(sorted);
    std::string text;
    int64_t others = 0;
    for (size_t i = 0; i < sorted.size(); ++i)
      if (i < 3)
        text += fmt::format("{}{} {}", i ? ", " : "", -sorted[i].first,
                            sorted[i].second.substr(0, 24));
      else
        others -= sorted[i].first;
    return others ? fmt::format("{}, {} more", text, others) : text;
  }
  // Merges edges between the same nodes, with their number.
  void addEdges(Drawing &drawing, const std::vector<size_t> &at) const {
    std::map<std::pair<size_t, size_t>, std::vector<const std::string *>> all;
    for (const ProgramGraph::Edge &edge : graph_.edges)
      if (const size_t from = at[size_t(edge.from)], to = at[size_t(edge.to)];
          from != to)
        all[{from, to}].push_back(&edge.label);
    for (const auto &[ends, labels] : all)
      drawing.edges.push_back({int(ends.first), int(ends.second),
                               labels.size() == 1
                                   ? *labels.front()
                                   : fmt::format("{} tensors", labels.size())});
  }

  static size_t ranksOf(const Drawing &drawing) {
    std::vector<size_t> rank(drawing.nodes.size());
    size_t sum = 0;
    for (const ProgramGraph::Edge &edge : drawing.edges) {
      size_t &from = rank[size_t(edge.from)], &to = rank[size_t(edge.to)];
      if (edge.from < edge.to)
        to = std::max(to, from + 1);
    }
    for (const ProgramGraph::Edge &edge : drawing.edges) {
      const size_t from = rank[size_t(edge.from)], to = rank[size_t(edge.to)];
      sum += std::max(from, to) - std::min(from, to);
    }
    return sum;
  }

  const ProgramGraph &graph_;
  const Places places_;
  const std::vector<Scope> &scopes_;
  size_t deepest_ = 0;
};

} // namespace

std::string nodesOf(const std::string &label) {
  std::string text;
  std::set<std::string> seen;
  for (size_t begin = 0, end; begin < label.size(); begin = end + 2) {
    end = std::min(label.find("; ", begin), label.size());
    std::string node = label.substr(begin, end - begin);
    if (node.ends_with(".onnx"))
      node = "added by dlc";
    if (seen.insert(node).second)
      text += (text.empty() ? "" : "; ") + node;
  }
  return text;
}

Drawing drawingOf(ProgramGraph graph, std::optional<int64_t> depth) {
  for (ProgramGraph::Node &node : graph.nodes)
    node.name = nodesOf(node.name);
  const Drawer drawer(graph);
  if (depth)
    return drawer.draw(int(std::min<int64_t>(*depth, drawer.deepest())));
  Drawing drawing = drawer.draw(drawer.deepest());
  while (drawing.depth > 0 && drawing.ranks > kMostRanks)
    drawing = drawer.draw(drawing.depth - 1);
  return drawing;
}

} // namespace dlc::tool

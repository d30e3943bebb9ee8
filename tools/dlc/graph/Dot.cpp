// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/graph/Drawing.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Subprocess.h"

#include <fmt/format.h>

#include <map>

namespace dlc::tool {
namespace {

using plan::ProgramGraph;
using Kind = ProgramGraph::Kind;
using Part = ProgramGraph::Part;

constexpr const char *kParts[] = {"", " (backward)", ""};

// A quoted string; "\n" is a line break, and other backslashes are escaped.
std::string dotString(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

struct Colour {
  const char *name, *fill;
};

constexpr Colour kPrecisions[] = {{"f32", "#cfe0f7"},
                                  {"f16, bf16", "#bfe3c8"},
                                  {"f64", "#f3c9c9"},
                                  {"whole numbers", "#e6e0f2"},
                                  {"mixed", "#d7e9e0"}};
constexpr Colour kPlacements[] = {{"library", "#f8d5b0"},
                                  {"generated", "#bfe3c8"},
                                  {"decomposed", "#cfe0f7"},
                                  {"mixed", "#e9e2c8"}};
constexpr char kPlain[] = "#ffffff";

const char *precisionOf(const std::string &type) {
  if (type == "f32")
    return kPrecisions[0].fill;
  if (type == "f16" || type == "bf16")
    return kPrecisions[1].fill;
  if (type == "f64")
    return kPrecisions[2].fill;
  if (type == "mixed")
    return kPrecisions[4].fill;
  return type.empty() ? kPlain : kPrecisions[3].fill;
}

const char *placementOf(const std::string &by) {
  for (const Colour &colour : kPlacements)
    if (by == colour.name)
      return colour.fill;
  return kPlain;
}

class DotWriter {
public:
  DotWriter(const Drawing &drawing, GraphColour colour)
      : drawing_(drawing), colour_(colour) {}

  std::string write(const std::string &title) {
    text_ = fmt::format(
        "digraph program {{\n"
        "graph [rankdir=TB, newrank=true, bgcolor=transparent, labelloc=t, "
        "fontname=Helvetica, fontsize=12, "
        "nodesep=0.2, ranksep=0.35, label={}];\n"
        "node [shape=box, style=\"filled,rounded\", fontname=Helvetica, "
        "fontsize=10, margin=\"0.1,0.04\", height=0.3, color=\"#667788\"];\n"
        "edge [fontname=Helvetica, fontsize=8, color=\"#8891a0\", "
        "fontcolor=\"#556677\", arrowsize=0.6];\n",
        dotString(printable(title)));
    addKey();
    for (size_t i = 0; i < drawing_.nodes.size(); ++i)
      clusters_[int(drawing_.nodes[i].part)].add(drawing_.nodes[i].scope, 0, i);
    for (int part = 0; part < 3; ++part)
      addCluster(clusters_[part], part, "");
    for (const ProgramGraph::Edge &edge : drawing_.edges)
      text_ += fmt::format("n{} -> n{} [label={}];\n", edge.from, edge.to,
                           dotString(edge.label));
    return text_ + "}\n";
  }

private:
  struct Cluster {
    std::vector<size_t> nodes;
    std::map<std::string, Cluster> parts;

    void add(const std::vector<std::string> &scope, size_t at, size_t node) {
      if (at == scope.size())
        nodes.push_back(node);
      else
        parts[scope[at]].add(scope, at + 1, node);
    }
  };

  void addKey() {
    text_ += "subgraph cluster_key {\nlabel=\"\"; color=\"#ccd2da\";\n";
    int number = 0;
    const auto add = [&](const Colour &c) {
      text_ += fmt::format("key{} [label={}, fillcolor=\"{}\"];\n", number++,
                           dotString(c.name), c.fill);
    };
    if (colour_ == GraphColour::Precision)
      for (const Colour &c : kPrecisions)
        add(c);
    else
      for (const Colour &c : kPlacements)
        add(c);
    text_ += "}\n";
  }

  // Clusters are nested like the expanded modules.
  void addCluster(const Cluster &cluster, int part, const std::string &path) {
    for (const size_t node : cluster.nodes)
      addNode(node);
    for (const auto &[name, inner] : cluster.parts) {
      text_ +=
          fmt::format("subgraph cluster_{} {{\nlabel={}; "
                      "color=\"#aab4c0\"; fontsize=10;\n",
                      number_++, dotString(printable(name) + kParts[part]));
      addCluster(inner, part, path + "/" + name);
      text_ += "}\n";
    }
  }

  void addNode(size_t number) {
    const DrawnNode &node = drawing_.nodes[number];
    const std::string name = printable(node.name, 48);
    std::string label, shape = "box", style = "filled,rounded";
    if (node.closed) {
      label = fmt::format("{}{}\n{}", name, kParts[int(node.part)],
                          printable(node.op, 90));
      shape = "box3d", style = "filled";
    } else if (node.kind == Kind::Op) {
      label = printable(node.op, 40) + (name.empty() ? "" : "\n" + name);
      style += node.part == Part::Backward ? ",dashed" : "";
    } else {
      label = fmt::format("{}\n{} {} {}", name, node.op, node.type, node.shape);
      shape = node.kind == Kind::State ? "cylinder" : "ellipse";
      style = "filled";
    }
    const char *fill = colour_ == GraphColour::Precision
                           ? precisionOf(node.type)
                       : node.kind == Kind::Op ? placementOf(node.by)
                                               : kPlain;
    text_ += fmt::format(
        "n{} [label={}, shape={}, style=\"{}\", fillcolor=\"{}\", "
        "tooltip={}];\n",
        number, dotString(label), shape, style, fill,
        dotString(fmt::format("{}\n{} {} {}", printable(node.name, 400),
                              node.op, node.type, node.shape)));
  }

  const Drawing &drawing_;
  const GraphColour colour_;
  Cluster clusters_[3];
  int number_ = 0;
  std::string text_;
};

using Clock = std::chrono::steady_clock;

// Empty after a timeout.
Result<std::string> svgOf(const std::string &dot, const std::string &program,
                          Clock::time_point end) {
  DLC_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create("graph"));
  const std::string in = folder.path() + "/graph.dot",
                    out = folder.path() + "/graph.svg";
  DLC_TRY(writeNewFile(in, dot));
  const auto left =
      std::max(std::chrono::milliseconds(1),
               std::chrono::duration_cast<std::chrono::milliseconds>(
                   end - Clock::now()));
  DLC_ASSIGN(const ProgramEnd ended,
             runProgram({program, "-Tsvg", in, "-o", out}, {}, {left, {}}));
  if (ended.isKilled)
    return std::string();
  if (ended.code != 0)
    return failed("'{}' ended with code {}: {}", program, ended.code,
                  ended.lastLine);
  return readFile(out, size_t(1) << 30);
}

} // namespace

std::string dotOf(const Drawing &drawing, GraphColour colour,
                  const std::string &title) {
  return DotWriter(drawing, colour).write(title);
}

Result<Json> render(const plan::ProgramGraph &graph, GraphColour colour,
                    const std::string &title, std::optional<int64_t> depth) {
  Json drawings = Json::array();
  std::string said;
  const std::string program = findProgram("dot");
  if (program.empty())
    said = "Graphviz (the program dot), which draws graphs, is not installed: "
           "install it and repeat the command";
  const Clock::time_point end =
      Clock::now() + std::chrono::seconds(kMostSeconds);
  const int deepest = drawingOf(graph, depth).depth;
  for (int at = depth ? deepest : 0; said.empty() && at <= deepest; ++at) {
    const Drawing drawing = drawingOf(graph, at);
    DLC_ASSIGN(std::string svg,
               svgOf(dotOf(drawing, colour, title), program, end));
    if (!svg.empty())
      drawings.push_back({{"depth", at}, {"svg", std::move(svg)}});
    else
      said = fmt::format("with {} levels of modules expanded, {} nodes are not "
                         "drawn within {} s: use a smaller --depth of dlc "
                         "graph, or FILE.dot for other programs",
                         at, drawing.nodes.size(), kMostSeconds);
  }
  return Json{{"drawings", std::move(drawings)}, {"said", said}};
}

} // namespace dlc::tool

// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/graph/Drawing.h"

#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Subprocess.h"

namespace dlc::tool {
namespace {

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

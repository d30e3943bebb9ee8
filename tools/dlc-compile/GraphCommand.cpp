// SPDX-License-Identifier: Apache-2.0
// dlc graph: draws the program after a phase, or an artifact's plan.
#include "compiler/driver/Lowered.h"
#include "compiler/import/Survey.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/Output.h"
#include "runtime/base/process/Log.h"
#include "runtime/plan/Model.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc-compile/Settings.h"
#include "tools/dlc-compile/graph/GraphOfModule.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/graph/Drawing.h"
#include "tools/dlc/report/Page.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace dlc::tool {
namespace {

struct GraphArguments : Settings {
  std::string phase, program, output = "graph.svg";
  GraphColour colour = GraphColour::Precision;
  std::optional<int64_t> depth;
  OptionTable own;
  OptionFlags ownFlags{own, onlySection("graph")};

  GraphArguments() {
    own.group("Picture");
    own.text(
        "graph.phase", phase, "PHASE",
        "phase of the compilation: import, loss, autocast, autodiff, simplify "
        "(default), decompose, fuse, ..., plan (of an artifact or run)");
    own.text("graph.program", program, "NAME",
             "train_step, eval_step, predict, ... (default: train_step, else "
             "predict)");
    own.choice("graph.colour", colour, {"precision", "placement"},
               "colours of nodes by precision, or by the library or kernel "
               "that computes them");
    own.count(
        "graph.depth", depth, 0,
        "levels of modules that are drawn expanded (default: as many as are "
        "drawn within about a second; a page has all until then)",
        1000);
    addOutput(own, "graph.output", output, "FILE.svg, .dot or .html");
  }
};

Result<plan::ProgramGraph> graphOfModel(GraphArguments &a) {
  a.options.stopAfter = a.phase.empty() ? "simplify" : a.phase;
  if (a.options.predictOnly && a.phase.empty() && a.program.empty())
    a.program = "predict";
  mlir::DialectRegistry registry;
  registerEverything(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  DiagnosticLog log(context);
  DLC_ASSIGN(const Lowered lowered, lower(a.options, context, log));
  if (!isLowered(a.options))
    return graphOf(lowered.model.module.get(), a.program);
  DLC_ASSIGN(const plan::Program *program,
             chooseProgram(lowered.result.plan, a.program));
  return plan::graphOf(lowered.result.plan, *program);
}

Result<plan::ProgramGraph> graphOfArtifact(const GraphArguments &a) {
  const std::string &path = a.options.model;
  DLC_ASSIGN(const Model model, openModel(path, Artifact::Use::Inspect));
  if (!a.phase.empty() && a.phase != "plan")
    return usageError("'{}' is compiled and has only --phase=plan: for '{}' "
                      "give the ONNX file with the same settings: dlc graph "
                      "MODEL.onnx --config={} --phase={}",
                      path, a.phase,
                      shellQuoted(model.artifact.filePath("config.yaml")),
                      a.phase);
  DLC_ASSIGN(const plan::Program *program,
             chooseProgram(model.artifact.plan(), a.program));
  return plan::graphOf(model.artifact.plan(), *program);
}

// Adds the modules that torch's dynamo exporter recorded to names of nodes, in
// the older exporter's form: "layer1/0/node_conv2d".
Status addModules(plan::ProgramGraph &graph, const GraphArguments &a) {
  DLC_ASSIGN(const auto uses,
             import::surveyOnnx(a.options.model, a.options.import.budget,
                                a.options.import.opLibraries));
  std::map<std::string, std::string> paths;
  for (const import::OperatorUse &use : uses)
    for (const auto &[node, modules] : use.modules) {
      size_t outer = 0;
      for (const std::string &module : modules) {
        paths[node] += module.substr(std::min(outer, module.size())) + "/";
        outer = module.size() + 1;
      }
    }
  for (plan::ProgramGraph::Node &node : graph.nodes)
    if (const auto found =
            paths.find(node.name.substr(0, node.name.find("; ")));
        node.kind == plan::ProgramGraph::Kind::Op && found != paths.end())
      node.name = found->second + node.name;
  return {};
}

// Writes the picture, or a replacement; returns its path.
Result<std::string> draw(const GraphArguments &a,
                         const plan::ProgramGraph &graph,
                         const std::string &title) {
  const std::string &path = a.output;
  const Drawing drawing = drawingOf(graph, a.depth);
  if (!a.depth && drawing.ranks > kMostRanks)
    warning("{} nodes, whose names contain no modules to collapse",
            drawing.nodes.size());
  const auto writeDot = [&](const std::string &to) -> Result<std::string> {
    DLC_TRY(writeFileAtomically(to, dotOf(drawing, a.colour, title)));
    return to;
  };
  if (path.ends_with(".dot"))
    return writeDot(path);
  const bool isPage = path.ends_with(".html");
  DLC_ASSIGN(const Json pictures,
             render(graph, a.colour, title,
                    isPage ? a.depth : std::optional<int64_t>(drawing.depth)));
  const auto said = pictures["said"].get<std::string>();
  if (pictures["drawings"].empty()) {
    const std::string other = path.substr(0, path.rfind('.')) + ".dot";
    warning("{}; this is '{}', for: dot -Tsvg {} -o FILE.svg", said, other,
            shellQuoted(other));
    return writeDot(other);
  }
  if (!said.empty())
    warning("{}", said);
  const Json run = {{"name", title}, {"graph", pictures}};
  DLC_TRY(writeFileAtomically(
      path, isPage ? reportPage({{"runs", Json::array({run})}})
                   : pictures["drawings"].back()["svg"].get<std::string>()));
  return path;
}

Status graphCommand(GraphArguments &a) {
  DLC_TRY(a.ownFlags.apply());
  const auto ends = [&](const char *what) { return a.output.ends_with(what); };
  if (!ends(".svg") && !ends(".dot") && !ends(".html"))
    return usageError("--output: expected FILE.svg, FILE.dot or FILE.html, "
                      "found '{}'",
                      a.output);
  const bool isModel = !isFolder(a.options.model);
  DLC_ASSIGN(plan::ProgramGraph graph,
             isModel ? graphOfModel(a) : graphOfArtifact(a));
  if (isModel)
    DLC_TRY(addModules(graph, a));
  const std::filesystem::path path(a.options.model);
  const std::string title = fmt::format(
      "{}: {} after {}",
      (path.has_filename() ? path : path.parent_path()).filename().string(),
      a.program.empty() ? "the step" : a.program,
      isModel ? a.options.stopAfter : "plan");
  DLC_ASSIGN(const std::string written, draw(a, graph, title));
  printOut("{}\n", written);
  return {};
}

} // namespace

void addGraph(CommandLine &line) {
  auto a = std::make_shared<GraphArguments>();
  CLI::App *c = line.app.add_subcommand(
      "graph", "draw a model's program after any phase, or an artifact's plan");
  c->add_option("model", a->options.model,
                "an ONNX file, or an artifact, run or checkpoint")
      ->required();
  a->ownFlags.addTo(*c);
  a->flags.addFilesTo(*c);
  a->flags.addOverridesTo(*c);
  addFlagCommand(line, *c, a, graphCommand);
  c->footer(
      R"(For an ONNX file it accepts all settings of dlc compile and draws the program after
--phase; it writes only the picture. Modules (the parts of nodes' names before /) are
boxes, collapsed below --depth; dashed nodes are the backward pass, cylinders weights and
other state; edges name the states that are read. Graphviz's program dot renders an SVG,
if it is installed; a page (.html) needs only a browser.

Examples:
  dlc graph lenet.onnx --phase=import -o lenet.svg
  dlc graph gpt.onnx --amp --phase=autodiff --depth=1 -o gpt.svg
  dlc graph gpt.onnx --program=predict --colour=placement --phase=decompose
  dlc graph runs/gpt-1 -o plan.html)");
}

} // namespace dlc::tool

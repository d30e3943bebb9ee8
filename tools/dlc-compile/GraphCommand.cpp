// SPDX-License-Identifier: Apache-2.0
// dlc graph: a picture of the program after a phase, or of an artifact's plan.
#include "compiler/driver/Lowered.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/Output.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/plan/Model.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc-compile/Settings.h"
#include "tools/dlc-compile/graph/Dot.h"
#include "tools/dlc-compile/graph/GraphOfModule.h"
#include "tools/dlc/FlagRows.h"
#include "tools/dlc/report/GraphJson.h"
#include "tools/dlc/report/Page.h"

#include <algorithm>
#include <cstdlib>

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
        "levels of modules that are drawn expanded (default: as many as " +
            std::to_string(kMostDrawn) + " nodes allow)",
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

Result<std::string> svgOf(const std::string &dot, const std::string &program) {
  DLC_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create("graph"));
  const std::string in = folder.path() + "/graph.dot",
                    out = folder.path() + "/graph.svg";
  DLC_TRY(writeNewFile(in, dot));
  std::string last;
  DLC_ASSIGN(const ProgramEnd end,
             runProgram({program, "-Tsvg", in, "-o", out},
                        [&](std::string_view line) { last = line; }));
  if (end.code != 0)
    return failed("'{}' ended with code {}: {}", program, end.code, last);
  return readFile(out, size_t(1) << 30);
}

Status writeSvg(const std::string &path, const std::string &dot) {
  const std::string program = findProgram("dot");
  if (program.empty()) {
    const std::string other = path.substr(0, path.size() - 4) + ".dot";
    DLC_TRY(writeFileAtomically(other, dot));
    warning("Graphviz (the program dot), which renders '{}', is not installed: "
            "install it, then: dot -Tsvg {} -o {}; or use -o FILE.html",
            path, shellQuoted(other), shellQuoted(path));
    printOut("{}\n", other);
    return {};
  }
  DLC_ASSIGN(const std::string svg, svgOf(dot, program));
  DLC_TRY(writeFileAtomically(path, svg));
  printOut("{}\n", path);
  return {};
}

Status writePage(const std::string &path, const Drawing &drawing,
                 const std::string &title) {
  plan::ProgramGraph graph;
  graph.nodes.assign(drawing.nodes.begin(), drawing.nodes.end());
  graph.edges = drawing.edges;
  Json run = {{"name", title}, {"graph", graphJson(graph)}};
  DLC_TRY(writeFileAtomically(
      path, reportPage({{"runs", Json::array({std::move(run)})}})));
  printOut("{}\n", path);
  return {};
}

Status graphCommand(GraphArguments &a) {
  DLC_TRY(a.flags.apply());
  DLC_TRY(a.ownFlags.apply());
  const auto ends = [&](const char *what) { return a.output.ends_with(what); };
  if (!ends(".svg") && !ends(".dot") && !ends(".html"))
    return usageError("--output: expected FILE.svg, FILE.dot or FILE.html, "
                      "found '{}'",
                      a.output);
  const bool isModel = !isFolder(a.options.model);
  DLC_ASSIGN(const plan::ProgramGraph graph,
             isModel ? graphOfModel(a) : graphOfArtifact(a));
  const Drawing drawing = drawingOf(graph, a.depth);
  if (!a.depth && drawing.nodes.size() > 3 * kMostDrawn)
    warning("{} nodes, whose names contain no modules to collapse",
            drawing.nodes.size());
  const std::string title =
      fmt::format("{}: {} after {}", a.options.model,
                  a.program.empty() ? "the step" : a.program,
                  isModel ? a.options.stopAfter : "plan");
  if (ends(".html"))
    return writePage(a.output, drawing, title);
  const std::string dot = dotOf(drawing, a.colour, title);
  if (ends(".svg"))
    return writeSvg(a.output, dot);
  DLC_TRY(writeFileAtomically(a.output, dot));
  printOut("{}\n", a.output);
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
  a->flags.addTo(*c);
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
  c->callback(
      [&line, a] { line.chosen = [a] { return report(graphCommand(*a)); }; });
}

} // namespace dlc::tool

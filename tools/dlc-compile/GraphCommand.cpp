// SPDX-License-Identifier: Apache-2.0
// dlc graph: draws the program after a phase, or an artifact's plan.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/Locations.h"
#include "compiler/driver/Lowered.h"
#include "compiler/import/Survey.h"
#include "compiler/lower/Labels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/Output.h"
#include "runtime/base/process/Log.h"
#include "runtime/plan/Model.h"
#include "runtime/plan/graph/ProgramGraph.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc-compile/Settings.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/graph/Drawing.h"
#include "tools/dlc/report/Page.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

using namespace mlir;

namespace dlc::tool {
namespace {

using Graph = plan::ProgramGraph;
using Kind = Graph::Kind;
using Part = Graph::Part;

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    tensor.getElementType().print(os);
  return text;
}

std::string shapeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    os << "[";
    llvm::interleaveComma(tensor.getShape(), os, [&](int64_t size) {
      ShapedType::isDynamic(size) ? os << "?" : os << size;
    });
    os << "]";
  }
  return text;
}

class ModuleGraph {
public:
  explicit ModuleGraph(func::FuncOp f) : f(f) {}

  Graph build() {
    for (BlockArgument argument : f.getArguments())
      place(argument, add(valueNode(Kind::Input, nameOf(argument), "input",
                                    argument.getType())));
    for (Operation &op : f.front())
      if (op.hasTrait<OpTrait::IsTerminator>())
        addOutputs(op);
      else if (!op.hasTrait<OpTrait::ConstantLike>())
        addOp(op);
    return std::move(graph);
  }

private:
  std::string nameOf(BlockArgument argument) {
    auto name =
        f.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dlc.name");
    return name ? name.str()
                : "input " + std::to_string(argument.getArgNumber());
  }
  static Graph::Node valueNode(Kind kind, std::string name, std::string op,
                               Type type) {
    return {kind,
            Part::Forward,
            std::move(name),
            std::move(op),
            typeText(type),
            shapeText(type),
            ""};
  }
  int add(Graph::Node node) {
    graph.nodes.push_back(std::move(node));
    return int(graph.nodes.size()) - 1;
  }
  void place(Value value, int node) { nodes[value] = node; }

  /// Adds edges from producers of the operands, without duplicates.
  void link(ValueRange operands, int to) {
    std::set<std::pair<int, std::string>> seen;
    for (Value operand : operands)
      if (auto from = nodes.find(operand); from != nodes.end()) {
        std::string label =
            (typeText(operand.getType()) + " " + shapeText(operand.getType()));
        if (seen.insert({from->second, label}).second)
          graph.edges.push_back({from->second, to, std::move(label)});
      }
  }

  void addOutputs(Operation &terminator) {
    for (OpOperand &operand : terminator.getOpOperands()) {
      const unsigned i = operand.getOperandNumber();
      auto name = f.getResultAttrOfType<StringAttr>(i, "dlc.name");
      Graph::Node node = valueNode(
          Kind::Output, name ? name.str() : "output " + std::to_string(i),
          "output", operand.get().getType());
      if (auto from = nodes.find(operand.get()); from != nodes.end())
        node.part = graph.nodes[size_t(from->second)].part;
      const int at = add(std::move(node));
      link(operand.get(), at);
    }
  }

  void addOp(Operation &op) {
    Graph::Node node;
    node.name = locationLabel(op.getLoc());
    node.op = op.getName().stripDialect().str();
    if (op.getNumResults() > 0)
      node.type = typeText(op.getResult(0).getType()),
      node.shape = shapeText(op.getResult(0).getType());
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ir::ReadOp read) {
          node.kind = Kind::State, node.name = read.getState().str();
          if (auto state = SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(
                  f, read.getStateAttr()))
            node.op = stringifyRole(state.getRole()).str();
        })
        .Case([&](ir::WriteOp write) { node.name = write.getState().str(); })
        .Case([&](ir::GradientOp g) { node.name = g.getState().str(); })
        .Case([&](ir::FusedOp fused) {
          node.op = "fused " + opsIn(fused), node.by = "generated";
        })
        .Default([&](Operation *other) {
          if (auto placed = dyn_cast<ir::PlaceableInterface>(other);
              placed && placed.getBy() != ir::By::Open)
            node.by = stringifyBy(placed.getBy()).str();
          if (auto first = other->getOperands();
              !first.empty() && isFloat(first.front().getType()))
            node.type = typeText(first.front().getType());
        });
    if (ir::isGradient(op.getLoc()) || isa<ir::GradientOp>(op))
      node.part = Part::Backward;
    else if (node.kind == Kind::Op && followsGradient(op))
      node.part = Part::Update;
    const int at = add(std::move(node));
    link(op.getOperands(), at);
    for (Value result : op.getResults())
      place(result, at);
  }
  static bool isFloat(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  }
  bool followsGradient(Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      auto from = nodes.find(operand);
      return from != nodes.end() &&
             graph.nodes[size_t(from->second)].part != Part::Forward;
    });
  }
  /// "conv, add, relu", without duplicates.
  static std::string opsIn(ir::FusedOp fused) {
    llvm::SmallSetVector<StringRef, 8> names;
    for (Operation &op : fused.getBody().front().without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>())
        names.insert(op.getName().stripDialect());
    return llvm::join(names, ", ");
  }

  func::FuncOp f;
  Graph graph;
  llvm::DenseMap<Value, int> nodes;
};

/// Selects the requested name among existing ones.
Result<std::string> choose(const std::vector<std::string> &names,
                           const std::string &asked) {
  auto has = [&](StringRef name) { return llvm::is_contained(names, name); };
  if (asked.empty() && has("train_step"))
    return std::string("train_step");
  if (asked.empty() && has("predict"))
    return std::string("predict");
  if (has(asked))
    return asked;
  return usageError("there is no program '{}', only {}", asked,
                    llvm::join(names, ", "));
}

/// The program of a plan, selected as by graphOf().
Result<const plan::Program *> chooseProgram(const plan::Plan &plan,
                                            const std::string &name) {
  std::vector<std::string> names;
  for (const plan::Program &program : plan.programs())
    names.push_back(program.name());
  DLC_ASSIGN(const std::string chosen, choose(names, name));
  return &*llvm::find_if(plan.programs(), [&](const plan::Program &program) {
    return program.name() == chosen;
  });
}

/// The graph of a function of the module, by default "train_step", else
/// "predict". Reads and writes of states are nodes, constants are not.
/// Code::Usage, with the existing functions, for an unknown one, and for a
/// module of commands.
Result<Graph> graphOf(ModuleOp module, const std::string &function) {
  if (!module.getOps<exec::ProgramOp>().empty())
    return usageError(
        "--phase: commands have a graph once all phases have run: "
        "give plan, or one up to recompute");
  std::vector<std::string> names;
  for (auto f : module.getOps<func::FuncOp>())
    names.push_back(f.getSymName().str());
  DLC_ASSIGN(const std::string chosen, choose(names, function));
  return ModuleGraph(module.lookupSymbol<func::FuncOp>(chosen)).build();
}

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
  DialectRegistry registry;
  registerEverything(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
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

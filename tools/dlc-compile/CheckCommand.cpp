// SPDX-License-Identifier: Apache-2.0
// dlc check: whether a model can be trained, without compiling it.
#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc-compile/Settings.h"
#include "tools/dlc-compile/check/Check.h"
#include "tools/dlc/Print.h"

namespace dlc::tool {
namespace {

struct CheckArguments : Settings {
  bool json = false, layers = false;
  std::optional<int64_t> depth;
};

std::vector<Layer> layersAsked(const CheckArguments &a, const CheckReport &r) {
  return a.depth ? folded(r.table, *a.depth) : r.table;
}

std::string shapesText(const Layer &layer) {
  return joined(layer.outputs, " ", [](const auto &shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
  });
}

Json toJson(const Layer &layer) {
  return {{"modules", layer.modules}, {"node", layer.node},
          {"op", layer.op},           {"nodes", layer.nodes},
          {"outputs", layer.outputs}, {"parameters", layer.parameters},
          {"shared", layer.shared},   {"flops", layer.flops}};
}

Json toJson(const CheckReport &r) {
  Json ops = Json::array(), layers = Json::array();
  for (const OperatorCheck &op : r.ops) {
    Json entry = {{"op", op.name},       {"count", op.count},
                  {"import", op.import}, {"gradient", op.gradient},
                  {"amp", op.amp},       {"advice", op.advice}};
    for (const auto &[target, word] : op.targets)
      entry[target] = word;
    ops.push_back(entry);
  }
  for (const LayerCost &layer : r.layers)
    layers.push_back(
        {{"node", layer.node}, {"op", layer.op}, {"flops", layer.flops}});
  Json tensors = Json::array();
  for (const TensorDecision &tensor : r.tensors)
    tensors.push_back({{"tensor", tensor.tensor},
                       {"decision", tensor.decision},
                       {"reason", tensor.reason}});
  return {{"ops", ops},
          {"batch", r.batch},
          {"parameters", r.parameters},
          {"trainable_parameters", r.trainable},
          {"frozen", r.frozen},
          {"tensors", tensors},
          {"flops", r.flops},
          {"layers", layers},
          {"memory", r.memory},
          {"warnings", r.warnings},
          {"errors", r.errors},
          {"ok", r.ok()}};
}

/// Prints rows of words, with columns as wide as their longest word.
void printColumns(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), row.size()));
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    printOut("{}\n", line);
  }
}

void printOps(const CheckReport &r) {
  std::vector<std::vector<std::string>> rows{
      {"operator", "count", "import", "gradient", "autocast"}};
  for (const auto &[target, word] : r.ops.front().targets)
    rows[0].push_back(target);
  for (const OperatorCheck &op : r.ops) {
    rows.push_back({printable(op.name), std::to_string(op.count), op.import,
                    op.gradient, op.amp});
    for (const auto &[target, word] : op.targets)
      rows.back().push_back(word);
    if (!op.advice.empty())
      rows.back().push_back(messageText(op.advice));
  }
  printColumns(rows);
}

std::string megaflops(double flops) {
  return fmt::format("{:.4g}", flops * 1e-6);
}

/// Prints a node's name, and its module unless the name includes it; for a
/// folded module the number of nodes in place of the operator.
void printLayers(const std::vector<Layer> &layers) {
  std::vector<std::vector<std::string>> rows{
      {"layer", "operator", "output", "parameters", "MFLOP"}};
  int64_t parameters = 0;
  double flops = 0;
  for (const Layer &layer : layers) {
    std::string name = printable(layer.node);
    if (!layer.modules.empty() && !layer.node.starts_with("/") &&
        !layer.op.empty())
      name = printable(layer.modules.back()) + ": " + name;
    std::string count = std::to_string(layer.parameters);
    if (!layer.shared.empty())
      count += " + shared " +
               printable(fmt::format("{}", fmt::join(layer.shared, ", ")));
    rows.push_back({name.empty() ? "(all)" : name,
                    layer.op.empty() ? fmt::format("{} node{}", layer.nodes,
                                                   layer.nodes == 1 ? "" : "s")
                                     : printable(layer.op),
                    shapesText(layer), count, megaflops(layer.flops)});
    parameters += layer.parameters;
    flops += layer.flops;
  }
  rows.push_back(
      {"total", "", "", std::to_string(parameters), megaflops(flops)});
  printColumns(rows);
}

void printReport(const CheckArguments &a, const CheckReport &r) {
  constexpr size_t kShown = 10;
  if (!r.ops.empty())
    printOps(r);
  if (r.parameters > 0)
    printOut("\n{} parameters, {} of them trained\n", r.parameters,
             r.trainable);
  size_t frozen = 0;
  for (const TensorDecision &tensor : r.tensors)
    if (tensor.decision != "trained" && tensor.decision != "statistics" &&
        frozen++ < kShown)
      printOut("  {}: {}: {}\n", tensor.decision, printable(tensor.tensor),
               printable(tensor.reason, 200));
  if (frozen > kShown)
    printOut("  and {} more\n", frozen - kShown);
  if (!r.layers.empty())
    printOut("\n{:.4g} GFLOP a training step at --batch={}; forward:\n",
             r.flops * 1e-9, r.batch);
  if (a.layers)
    printLayers(layersAsked(a, r));
  const size_t shown = a.layers ? 0 : std::min(kShown, r.layers.size());
  for (size_t i = 0; i < shown; ++i)
    printOut("  {:10.4g} GFLOP  {}  {}\n", r.layers[i].flops * 1e-9,
             printable(r.layers[i].op), printable(r.layers[i].node));
  if (!a.layers && r.layers.size() > kShown)
    printOut("  and {} more\n", r.layers.size() - kShown);
  for (const auto &[target, bytes] : r.memory)
    printOut("{} of memory on {}\n", roundBytes(double(bytes)), target);
}

Status checkCommand(CheckArguments &a) {
  DLC_ASSIGN(CheckReport r, check(a.options));
  if (a.json) {
    Json json = toJson(r);
    if (a.layers) {
      Json &table = json["layer_table"] = Json::array();
      for (const Layer &layer : layersAsked(a, r))
        table.push_back(toJson(layer));
    }
    printJson(json, 2);
  } else {
    printReport(a, r);
  }
  for (const std::string &text : r.warnings)
    warning("{}", messageText(text));
  if (r.ok())
    return {};
  std::string text = a.options.model + ": cannot be trained";
  for (const std::string &error : r.errors)
    text += "\n  " + messageText(error);
  return Status(Code::BadModel, text);
}

} // namespace

void addCheck(CommandLine &line) {
  auto a = std::make_shared<CheckArguments>();
  CLI::App *c = line.app.add_subcommand(
      "check", "say whether a model can be trained, and what it costs");
  c->add_option("model", a->options.model, "the ONNX file")->required();
  c->add_flag("--json", a->json, "the report as JSON");
  CLI::Option *layers = c->add_flag(
      "--layers", a->layers,
      "every layer in the model's order: output shape, parameters, FLOPs of "
      "the forward pass (a multiply-add counts two)");
  c->add_option("--depth", a->depth,
                "depth of --layers: modules of that depth as one row each; 0: "
                "all layers")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->needs(layers);
  a->flags.addFilesTo(*c);
  a->flags.addOverridesTo(*c);
  addFlagCommand(line, *c, a, checkCommand);
  c->footer(
      R"(Lists the model's operators: whether they are imported, have a gradient, their precision
under autocast, and the targets that compute them; then trainable tensors, FLOPs and memory.
Exit code 0 if the model can be trained, else 3.

Examples:
  dlc check model.onnx
  dlc check model.onnx --layers --depth=2
  dlc check gpt.onnx --batch=8 --dim time=256 --json)");
}

} // namespace dlc::tool

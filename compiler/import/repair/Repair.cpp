// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/Repair.h"
#include "compiler/import/Outputs.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/repair/RepairGraph.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/repair/upgrade/StandardBodies.h"
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Nearest.h"
#include <algorithm>
#include <chrono>
#include <fmt/ranges.h>

namespace dlc::import {

Restoring &Graph::opened() {
  if (!work)
    work = std::make_unique<Restoring>(file);
  return *work;
}

Status Graph::close() {
  if (!work)
    return {};
  work->close();
  const bool isSorted = work->edit.isAsItWas();
  work.reset();
  if (!isSorted) {
    DLC_ASSIGN(file.nodes, sortedNodes(file.model->graph()));
  }
  return {};
}

std::vector<std::string> explain(std::span<const RepairRun> runs) {
  std::vector<std::string> lines = {fmt::format(
      "{:16} {:>7} {:>12}  {}", "repair", "changes", "time", "what it does")};
  for (const RepairRun &run : runs)
    lines.push_back(fmt::format("{:16} {:>7} {:>9.3f} ms  {}", run.repair->name,
                                run.places, run.seconds * 1e3,
                                run.repair->sentence));
  return lines;
}

static double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status repair(Graph &graph, Stage stage, const ImportOptions &options) {
  std::vector<std::string_view> skipped;
  for (const Repair &row : repairs()) {
    if (row.stage != stage || (row.when && !row.when(options)))
      continue;
    const bool isNamed = std::ranges::count(options.noRepairs, row.name) > 0;
    if (isNamed && row.skip == Skip::Yes) {
      skipped.push_back(row.name);
      continue;
    }
    const size_t decided = graph.file.decisions.size();
    const double start = secondsNow();
    DLC_ASSIGN(const int places, row.run(graph, options));
    graph.runs.push_back({&row, places, secondsNow() - start});
    if (isNamed && places)
      return usageError("--no-repair={}: {} node{} of the model need{} it, "
                        "which {}",
                        row.name, places, places > 1 ? "s" : "",
                        places > 1 ? "" : "s", row.sentence);
    for (size_t i = decided; i < graph.file.decisions.size(); ++i)
      graph.file.decisions[i].repair = row.name;
  }
  if (!skipped.empty())
    graph.file.remarks.push_back(
        {fmt::format("skipped by --no-repair: {}; the file's tensors and nodes "
                     "are used unchanged",
                     fmt::join(skipped, ", ")),
         true});
  return stage == Stage::Source ? graph.close() : Status();
}

Result<OnnxFile> loadRepaired(const std::string &path, Budget budget) {
  DLC_ASSIGN(OnnxFile file, loadOnnx(path, std::move(budget)));
  Graph graph(std::move(file));
  DLC_TRY(repair(graph, Stage::Source, {}).withContext(path));
  return std::move(graph.file);
}

Status checkNoRepair(const std::string &name) {
  std::vector<std::string> names;
  for (const Repair &row : repairs())
    if (row.skip != Skip::Never)
      names.emplace_back(row.name);
  if (std::ranges::count(names, name))
    return {};
  return usageError("no repair that can be left out is called '{}'{}; there "
                    "are {}",
                    name, suggestion(name, names), fmt::join(names, ", "));
}

namespace {

/// Wraps a repair of the open graph.
template <auto restore>
Result<int> restoring(Graph &graph, const ImportOptions &options) {
  Restoring &work = graph.opened();
  const int before = work.places();
  auto run = [&] {
    if constexpr (requires { restore(work); })
      return restore(work);
    else
      return restore(work, options);
  };
  if constexpr (std::is_void_v<decltype(run())>)
    run();
  else if constexpr (std::is_same_v<decltype(run()), int>)
    return run();
  else
    DLC_TRY(run());
  DLC_TRY(work.problem);
  return work.places() - before;
}

/// Wraps a repair that adds one Decision per change.
template <auto restore>
Result<int> deciding(Graph &graph, const ImportOptions &) {
  DLC_TRY(graph.close());
  const size_t before = graph.file.decisions.size();
  DLC_TRY(restore(graph.file));
  return int(graph.file.decisions.size() - before);
}

Result<int> expandBodies(Graph &graph, const ImportOptions &) {
  return expandStandardBodies(graph.file,
                              [](auto &op) { return allRows().count(op) > 0; });
}

Result<int> dropDead(Graph &graph, const ImportOptions &) {
  const size_t before = graph.file.nodes.size();
  graph.uses = dropDeadNodes(graph.file);
  return int(before - graph.file.nodes.size());
}

Result<int> bind(Graph &graph, const ImportOptions &options) {
  DLC_ASSIGN(graph.inputs, bindInputs(graph.file, options, *graph.context));
  for (std::string &remark : remarksOn(graph.inputs))
    graph.file.remarks.push_back({std::move(remark)});
  return int(graph.inputs.all.size() + graph.inputs.known.size());
}

constexpr Repair kRepairs[] = {
    {"constants", "turns Constant nodes that hold weights into initializers",
     Stage::Source, deciding<takeConstants>},
    {"carried-weights", "finds weights that loops carry unchanged",
     Stage::Source, deciding<readCarriedWeights>},
    // Before other repairs replace the nodes with the notes.
    {"stop-gradients",
     "restores a detach() from torch's notes or from x + (q - x)",
     Stage::Source, restoring<findStops>},
    {"keep-statistics",
     "finds batch norms that the source keeps in inference mode", Stage::Source,
     restoring<keepStatistics>},
    {"indexed-extrema",
     "gives max(dim)'s gradient to the first of equal elements", Stage::Source,
     restoring<findIndexedExtrema>},
    // Notes name an input, which must exist then.
    {"add-zero-biases", "restores biases of zeros that the exporter dropped",
     Stage::Source, restoring<restoreBiases>},
    // Uses the file's notes on tensors, before these are split.
    {"settle-folded", "finds the parameters that constants were folded from",
     Stage::Source, restoring<settleFolded>},
    // Splits nodes before their tensors are split.
    {"split-norms", "splits norms merged because their parameters were equal",
     Stage::Source, restoring<partCalls>},
    // The following repairs expect one tensor for each of the source.
    {"split-merged", "splits tensors merged because their values were equal",
     Stage::Source, restoring<untieInitializers>},
    {"unpack-recurrent",
     "splits packed weights of recurrent layers as in torch", Stage::Source,
     restoring<unpackRecurrent>},
    {"one-bias", "keeps the zeros beside a recurrent layer's one bias",
     Stage::Source, restoring<findOneBias>},
    {"names-by-value", "names tensors as the equal tensors of --names",
     Stage::Source, restoring<[](Restoring &work, const ImportOptions &o) {
       return nameByValue(work, o.names);
     }>,
     [](auto &o) { return !o.names.empty(); }},
    {"adopt-names", "restores the source's names and layouts, ties copies",
     Stage::Source, restoring<adoptParameters>},
    // Expressions use adopted names.
    {"unfold-values", "replaces folded constants by expressions of parameters",
     Stage::Source, restoring<unfoldExpressions>},
    {"untie", "copies a shared weight for each reader, by --untie",
     Stage::Source, restoring<[](Restoring &work, const ImportOptions &o) {
       return separateTies(work, o.untied);
     }>,
     [](auto &o) { return !o.untied.empty(); }},
    {"fill-weights", "turns constants filled with one number into weights",
     Stage::Source, deciding<fillWeights>},

    {"unfold-bn", "inserts a batch norm after layers, by --unfold-bn",
     Stage::Options,
     [](Graph &graph, auto &o) {
       return renewNorms(graph.file, o.renewNormsAt);
     },
     [](auto &o) { return o.renewNorms; }},
    {"freeze-bn", "keeps running statistics fixed, by --freeze-bn",
     Stage::Options,
     [](Graph &graph, auto &o) {
       return freezeNorms(graph.file, o.frozenNorms);
     },
     [](auto &o) { return !o.frozenNorms.empty(); }},
    {"train-quantized", "trains the weights of a quantized file, by --qat",
     Stage::Options,
     [](Graph &graph, auto &) { return trainQuantized(graph.file); },
     [](auto &o) { return o.trainQuantized; }},
    {"dropout", "finds dropouts, and inserts those of --dropout",
     Stage::Options,
     [](Graph &graph, auto &o) {
       return findDropouts(graph.file, o.dropouts);
     }},
    {"new-head", "replaces the last layer, by --replace-head", Stage::Options,
     [](Graph &graph, auto &o) {
       return replaceHead(graph.file, o.headClasses, graph.head);
     },
     [](auto &o) { return o.headClasses != 0; }},
    // The head keeps its new values.
    {"load-weights", "loads the weights of --weights", Stage::Options,
     [](Graph &graph, auto &o) {
       return loadWeights(graph.file, o.weights, o.weightsPartial, graph.head);
     },
     [](auto &o) { return !o.weights.empty(); }},
    {"features", "makes inner tensors outputs, by --features", Stage::Options,
     [](Graph &graph, auto &o) { return addFeatures(graph.file, o.features); },
     [](auto &o) { return !o.features.empty(); }},

    {"upgrade", "upgrades operators to the newest opset", Stage::Form,
     [](Graph &graph, auto &) { return upgradeNodes(graph.file); }, nullptr,
     Skip::IfIdle},
    {"contrib", "rewrites com.microsoft operators in ai.onnx ones", Stage::Form,
     [](Graph &graph, auto &) { return replaceContrib(graph.file); }, nullptr,
     Skip::IfIdle},
    {"masked-scatter", "replaces masked_scatter, whose NonZero has no shape",
     Stage::Form, [](Graph &graph, auto &) { return placeByMask(graph.file); },
     nullptr, Skip::IfIdle},
    {"standard-bodies", "expands operators into their ONNX function bodies",
     Stage::Form, expandBodies, nullptr, Skip::IfIdle},
    {"drop-dead", "removes nodes that no output depends on", Stage::Form,
     dropDead, nullptr, Skip::Never},
    {"bind-inputs", "fixes the shapes of the inputs", Stage::Form, bind,
     nullptr, Skip::Never},
    {"init", "initializes weights, by --init or for a new head", Stage::Form,
     [](Graph &graph, auto &o) {
       return initializeWeights(graph.file, rolesOf(graph.roles), graph.head,
                                o.init);
     },
     [](auto &o) { return !o.init.rules.empty() || o.headClasses != 0; }},
};

} // namespace

std::span<const Repair> repairs() { return kRepairs; }

} // namespace dlc::import

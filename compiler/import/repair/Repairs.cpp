// SPDX-License-Identifier: Apache-2.0
// The list of repairs.
#include "compiler/import/Outputs.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/repair/RepairGraph.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/repair/upgrade/StandardBodies.h"
#include "compiler/import/rows/Rows.h"

namespace dlc::import {
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
    // Before other repairs replace the nodes with the notes.
    {"stop-gradients",
     "restores a detach() from torch's notes or from x + (q - x)",
     Stage::Source,
     [](Graph &graph, auto &) -> Result<int> {
       return findStops(graph.opened());
     }},
    {"keep-statistics",
     "finds batch norms that the source keeps in inference mode", Stage::Source,
     [](Graph &graph, auto &) -> Result<int> {
       return keepStatistics(graph.opened());
     }},
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

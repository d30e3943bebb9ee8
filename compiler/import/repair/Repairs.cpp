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
     Stage::Source, Skip::Yes, nullptr, deciding<takeConstants>},
    // Before other repairs replace the nodes with the notes.
    {"stop-gradients",
     "restores a detach() from torch's notes or from x + (q - x)",
     Stage::Source, Skip::Yes, nullptr,
     [](Graph &graph, auto &) -> Result<int> {
       return findStops(graph.opened());
     }},
    // Notes name an input, which must exist then.
    {"add-zero-biases", "restores biases of zeros that the exporter dropped",
     Stage::Source, Skip::Yes, nullptr, restoring<restoreBiases>},
    // Uses the file's notes on tensors, before these are split.
    {"settle-folded", "finds the parameters that constants were folded from",
     Stage::Source, Skip::Yes, nullptr, restoring<settleFolded>},
    // Splits nodes before their tensors are split.
    {"split-norms", "splits norms merged because their parameters were equal",
     Stage::Source, Skip::Yes, nullptr, restoring<partCalls>},
    // The following repairs expect one tensor for each of the source.
    {"split-merged", "splits tensors merged because their values were equal",
     Stage::Source, Skip::Yes, nullptr, restoring<untieInitializers>},
    {"unpack-recurrent",
     "splits packed weights of recurrent layers as in torch", Stage::Source,
     Skip::Yes, nullptr, restoring<unpackRecurrent>},
    {"names-by-value", "names tensors as the equal tensors of --names",
     Stage::Source, Skip::Yes, [](auto &o) { return !o.names.empty(); },
     restoring<[](Restoring &work, const ImportOptions &o) {
       return nameByValue(work, o.names);
     }>},
    {"adopt-names", "restores the source's names and layouts, ties copies",
     Stage::Source, Skip::Yes, nullptr, restoring<adoptParameters>},
    // Expressions use adopted names.
    {"unfold-values", "replaces folded constants by expressions of parameters",
     Stage::Source, Skip::Yes, nullptr, restoring<unfoldExpressions>},
    {"untie", "copies a shared weight for each reader, by --untie",
     Stage::Source, Skip::Yes, [](auto &o) { return !o.untied.empty(); },
     restoring<[](Restoring &work, const ImportOptions &o) {
       return separateTies(work, o.untied);
     }>},
    {"fill-weights", "turns constants filled with one number into weights",
     Stage::Source, Skip::Yes, nullptr, deciding<fillWeights>},

    {"unfold-bn", "inserts a batch norm after layers, by --unfold-bn",
     Stage::Options, Skip::Yes, [](auto &o) { return o.renewNorms; },
     [](Graph &graph, auto &o) {
       return renewNorms(graph.file, o.renewNormsAt);
     }},
    {"train-quantized", "trains the weights of a quantized file, by --qat",
     Stage::Options, Skip::Yes, [](auto &o) { return o.trainQuantized; },
     [](Graph &graph, auto &) { return trainQuantized(graph.file); }},
    {"dropout", "finds dropouts, and inserts those of --dropout",
     Stage::Options, Skip::Yes, nullptr,
     [](Graph &graph, auto &o) {
       return findDropouts(graph.file, o.dropouts);
     }},
    {"new-head", "replaces the last layer, by --replace-head", Stage::Options,
     Skip::Yes, [](auto &o) { return o.headClasses != 0; },
     [](Graph &graph, auto &o) {
       return replaceHead(graph.file, o.headClasses, graph.head);
     }},
    // The head keeps its new values.
    {"load-weights", "loads the weights of --weights", Stage::Options,
     Skip::Yes, [](auto &o) { return !o.weights.empty(); },
     [](Graph &graph, auto &o) {
       return loadWeights(graph.file, o.weights, o.weightsPartial, graph.head);
     }},
    {"features", "makes inner tensors outputs, by --features", Stage::Options,
     Skip::Yes, [](auto &o) { return !o.features.empty(); },
     [](Graph &graph, auto &o) { return addFeatures(graph.file, o.features); }},

    {"upgrade", "upgrades operators to the newest opset", Stage::Form,
     Skip::IfIdle, nullptr,
     [](Graph &graph, auto &) { return upgradeNodes(graph.file); }},
    {"contrib", "rewrites com.microsoft operators in ai.onnx ones", Stage::Form,
     Skip::IfIdle, nullptr,
     [](Graph &graph, auto &) { return replaceContrib(graph.file); }},
    {"standard-bodies", "expands operators into their ONNX function bodies",
     Stage::Form, Skip::IfIdle, nullptr, expandBodies},
    {"drop-dead", "removes nodes that no output depends on", Stage::Form,
     Skip::Never, nullptr, dropDead},
    {"bind-inputs", "fixes the shapes of the inputs", Stage::Form, Skip::Never,
     nullptr, bind},
    {"init", "initializes weights, by --init or for a new head", Stage::Form,
     Skip::Yes,
     [](auto &o) { return !o.init.rules.empty() || o.headClasses != 0; },
     [](Graph &graph, auto &o) {
       return initializeWeights(graph.file, rolesOf(graph.roles), graph.head,
                                o.init);
     }},
};

} // namespace

std::span<const Repair> repairs() { return kRepairs; }

} // namespace dlc::import

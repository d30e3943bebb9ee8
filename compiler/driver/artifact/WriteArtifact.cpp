// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/artifact/WriteArtifact.h"
#include "compiler/dialect/Exec.h"
#include "compiler/driver/artifact/Adapters.h"
#include "compiler/driver/artifact/DecisionFiles.h"
#include "compiler/driver/artifact/InitialState.h"
#include "compiler/driver/artifact/SourceLayout.h"
#include "compiler/export/Export.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/plan/Artifact.h"

using namespace mlir;

namespace dlc {
namespace {

/// The data that files are generated from.
struct Contents {
  explicit Contents(const Lowered &lowered) : lowered(lowered) {
    for (auto state : module().getOps<exec::StateOp>())
      if (state.getRole() == "param" || state.getRole() == "buffer" ||
          state.getRole() == "const")
        if (auto weight = dyn_cast<StringAttr>(state.getInit()))
          states.insert(weight.str());
    for (const import::Replaced &r : lowered.model.replaced) {
      const bool isOfStates = llvm::all_of(
          r.pieces, [&](const auto &p) { return states.contains(p.tensor); });
      (isOfStates ? layout : fixed).push_back(r);
    }
    for (const import::Replaced &r : layout)
      states.insert(r.name);
  }
  /// Only read; MLIR's accessors are not const.
  ModuleOp module() const { return lowered.model.module.get(); }

  const Lowered &lowered;
  std::set<std::string> states; // by the names of their weights
  /// Initializers that the program has under other names. layout: an export
  /// computes them from states; fixed: constants, computed now.
  std::vector<import::Replaced> layout, fixed;
};

using Text = Result<std::string>;

/// Empty if nothing is trained.
Text tensors(const Contents &c) {
  if (c.lowered.options.predictOnly)
    return std::string();
  std::map<std::string, bool> trainable;
  for (auto state : c.module().getOps<exec::StateOp>())
    if (auto weight = dyn_cast<StringAttr>(state.getInit()))
      trainable[weight.str()] |= state.getTrainable();
  return tensorsJson(decideTensors(c.lowered.model, trainable,
                                   c.lowered.options.train.lora.rank != 0));
}

Text skeleton(const Contents &c) {
  exporter::Tensors tensors;
  for (const auto &[name, w] : c.lowered.model.weights.all())
    tensors[name] = {w.dtype, w.shape, w.data, w.bytes};
  std::deque<std::string> buffers;
  DLC_TRY(addSourceTensors(c.fixed, tensors, buffers));
  return exporter::makeSkeleton(*c.lowered.model.source, c.states, tensors);
}

Text decisions(const Contents &c) {
  const auto &made = c.lowered.model.decisions;
  return made.empty() ? "" : decisionsJson(made);
}

/// A file that is omitted if its text is empty.
struct ArtifactFile {
  const char *name;
  Text (*make)(const Contents &);
};
const ArtifactFile kFiles[] = {
    {"config.yaml", [](auto &c) -> Text { return toYaml(c.lowered.options); }},
    {"adapters.json", [](auto &c) -> Text { return adaptersJson(c.module()); }},
    {"decisions.json", decisions},
    {"tensors.json", tensors},
    {"scores.json", [](auto &c) -> Text { return scoresJson(c.module()); }},
    {"model.mlir", [](auto &c) -> Text { return c.lowered.result.program; }},
    {"layout.json",
     [](auto &c) -> Text {
       return c.layout.empty() ? "" : layoutJson(c.layout);
     }},
    {"source.onnx", skeleton},
};

} // namespace

Status writeArtifact(const Lowered &lowered,
                     const std::map<std::string, std::string> &kernels) {
  const CompileOptions &options = lowered.options;
  DLC_ASSIGN(ArtifactWriter writer, ArtifactWriter::create(options.output));
  const auto path = [&](const std::string &name) {
    return writer.folder() + "/" + name;
  };
  for (const auto *files : {&lowered.model.opLibraries, &kernels})
    for (const auto &[name, content] : *files)
      DLC_TRY(writeNewFile(path(name), content));
  const Contents contents(lowered);
  DLC_TRY(writeInitialState(contents.module(), lowered.model.weights,
                            path("state.safetensors")));
  for (const ArtifactFile &file : kFiles) {
    DLC_ASSIGN(const std::string text, file.make(contents));
    if (!text.empty())
      DLC_TRY(writeNewFile(path(file.name), text));
  }
  return writer.finish(lowered.result.plan,
                       "dlc compile " + shellQuoted(options.model));
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// dlc export: writes trained weights as an ONNX model.
#include "compiler/driver/artifact/Adapters.h"
#include "compiler/driver/artifact/SourceLayout.h"
#include "compiler/driver/artifact/StepExport.h"
#include "compiler/export/Export.h"
#include "compiler/import/guide/ForeignModel.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/process/Log.h"
#include "runtime/plan/Averages.h"
#include "runtime/plan/Model.h"
#include "runtime/plan/StateNames.h"
#include "runtime/plan/parts/StateFiles.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc/OptionFlags.h"

namespace dlc::tool {
namespace {

struct ExportArguments : FlagArguments {
  ExportArguments() : FlagArguments("export") {
    addModel(table, "export.model", model);
    addOutput(table, "export.output", output, "the ONNX file");
    addAverages(table, "export.ema", averages);
    table.choice(
        "export.lora", lora, {"merged", "adapters"},
        "adapters merged into the weights, or alone as a .safetensors file");
    table.toggle("export.step", step,
                 "the training step: its inputs are a batch and the state, its "
                 "results the losses and the state after it");
    table.bytes("export.inline-limit", inlineLimit,
                "size above which weights are written to a separate file, "
                "<output>.<hash>.data");
  }

  std::string model, output, lora = "merged";
  int averages = 0;
  bool step = false;
  int64_t inlineLimit = int64_t(1) << 30;
};

/// The states by name, as views of `files` or of `copies`. If `set` is above 0,
/// averages of this set replace the states that they average.
Result<NamedTensors> values(const plan::StateFiles &files,
                            std::deque<std::vector<std::byte>> &copies,
                            const Artifact &artifact, int averages) {
  NamedTensors tensors;
  bool found = false;
  for (const std::string &name : files.names())
    tensors[name] = *files.find(name, copies.emplace_back());
  for (const auto &state : artifact.plan().states())
    if (plan::isAverage(state, averages)) {
      tensors[state.of()] = tensors[state.name()];
      found = true;
    }
  if (averages && !found)
    return usageError("'{}' has {} sets of moving averages, expected number "
                      "{}: compile with --ema",
                      artifact.path(), plan::countAverages(artifact.plan()),
                      averages);
  return tensors;
}

Result<std::vector<Adapter>> adaptersOf(const Artifact &artifact) {
  if (!artifact.has("adapters.json"))
    return std::vector<Adapter>();
  DLC_ASSIGN(std::string text,
             readFile(artifact.filePath("adapters.json"), size_t(64) << 20));
  return parseAdapters(text).withContext(artifact.path());
}

/// Exports only the adapters, as safetensors: NAME.lora_A.weight,
/// NAME.lora_B.weight.
Status exportAdapters(const ExportArguments &a, const Model &model,
                      const std::vector<Adapter> &adapters,
                      const NamedTensors &tensors) {
  std::vector<NamedTensor> chosen;
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  for (const Adapter &adapter : adapters)
    for (const std::string &name : {adapter.a, adapter.b}) {
      chosen.push_back(tensors.at(name));
      chosen.back().name = name;
    }
  int64_t rank = chosen.front().shape[0];
  metadata["r"] = std::to_string(rank);
  metadata["lora_alpha"] =
      fmt::format("{}", adapters.front().scale * double(rank));
  DLC_ASSIGN(AtomicFile file, AtomicFile::create(a.output));
  DLC_TRY(writeSafetensors(file.writer(), chosen, metadata));
  DLC_TRY(file.commit());
  info("{}: {} adapters written from {}", a.output, adapters.size(),
       model.statePath);
  return {};
}

exporter::TensorView viewOf(const NamedTensor &t) {
  return {t.dtype, t.shape, t.data, t.bytes};
}

/// Exports all states under their names.
Status exportStepOf(const ExportArguments &a, const Model &model,
                    const NamedTensors &states) {
  for (const char *key : {"export.ema", "export.lora"})
    if (isGiven(a.flags.given(), key))
      return usageError("{}: --step writes all states, expected it without "
                        "that flag",
                        a.table.spelling(*a.table.find(key)));
  exporter::Tensors tensors;
  for (const auto &[name, tensor] : states)
    tensors[name] = viewOf(tensor);
  DLC_TRY(exportStep(model.artifact, std::move(tensors), a.output,
                     {size_t(a.inlineLimit)}));
  info("{}: the training step, with the state of {}", a.output,
       model.statePath);
  return {};
}

/// The states that are the model's tensors, under their names.
exporter::Tensors modelTensors(const plan::Plan &plan,
                               const NamedTensors &states) {
  exporter::Tensors tensors;
  for (const plan::State &state : plan.states()) {
    auto it = states.find(state.name());
    bool isModel = state.role() == "param" || state.role() == "buffer" ||
                   state.role() == "const";
    if (!isModel || it == states.end() ||
        state.name().starts_with(plan::kTeacher))
      continue;
    tensors[plan::modelName(state.name())] = viewOf(it->second);
  }
  return tensors;
}

/// Adds the file's tensors that the program has under other names or layouts.
Status arrangeAsSource(const Artifact &artifact, exporter::Tensors &tensors,
                       std::deque<std::string> &buffers) {
  if (!artifact.has("layout.json"))
    return {};
  DLC_ASSIGN(std::string text,
             readFile(artifact.filePath("layout.json"), size_t(256) << 20));
  DLC_ASSIGN(const auto layout, parseLayout(text).withContext(artifact.path()));
  return addSourceTensors(layout, tensors, buffers)
      .withContext(artifact.path());
}

Status exportCommand(ExportArguments &a) {
  const std::string other =
      a.lora == "adapters" ? "" : import::foreignOutput(a.output);
  if (!other.empty())
    return usageError("-o {}: {}", a.output, other);
  DLC_ASSIGN(Model model, openModel(a.model, Artifact::Use::Inspect));
  DLC_ASSIGN(const auto files, plan::StateFiles::open(model.statePath));
  std::deque<std::vector<std::byte>> copies;
  DLC_ASSIGN(NamedTensors states,
             values(files, copies, model.artifact, a.averages));
  if (a.step)
    return exportStepOf(a, model, states);
  DLC_ASSIGN(std::vector<Adapter> adapters, adaptersOf(model.artifact));
  if (isGiven(a.flags.given(), "export.lora") && adapters.empty())
    return usageError("--lora: '{}' has no adapters: compile with --lora=RANK",
                      model.artifact.path());
  if (a.lora == "adapters")
    return exportAdapters(a, model, adapters, states);
  std::deque<std::vector<std::byte>> merged;
  DLC_TRY(mergeAdapters(adapters, states, merged));
  for (const Adapter &adapter : adapters) // not tensors of the model
    for (const std::string &name : {adapter.a, adapter.b})
      states.erase(name);
  exporter::Tensors tensors = modelTensors(model.artifact.plan(), states);
  std::deque<std::string> arranged;
  DLC_TRY(arrangeAsSource(model.artifact, tensors, arranged));
  DLC_ASSIGN(std::string skeleton,
             readFile(model.artifact.filePath("source.onnx"), size_t(2) << 30));
  DLC_TRY(exporter::exportOnnx(skeleton, tensors, a.output,
                               {size_t(a.inlineLimit)}));
  info("{}: written from {}{}", a.output, model.statePath,
       a.averages ? ", moving averages" : "");
  return {};
}

} // namespace

void addExport(CommandLine &line) {
  auto a = std::make_shared<ExportArguments>();
  CLI::App *c = line.app.add_subcommand(
      "export", "write trained weights as an ONNX model");
  addFlagCommand(line, *c, a, exportCommand, {"model", "--output"});
  c->footer("Examples:\n"
            "  dlc export runs/lenet-1 --ema -o lenet-trained.onnx\n"
            "  dlc export runs/gpt-1 --lora=adapters -o gpt-lora.safetensors\n"
            "  dlc export lenet.dlc --step -o lenet-step.onnx");
}

} // namespace dlc::tool

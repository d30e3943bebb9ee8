// SPDX-License-Identifier: Apache-2.0
#include "passes/Pipeline.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"
#include "passes/attention/Attention.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

void AmpOptions::resolve() {
  auto move = [&](const char *list, std::vector<std::string> &to) {
    auto &from = fileLists[list];
    to.insert(to.end(), from.begin(), from.end());
  };
  move("allow", allow);
  move("deny", deny);
  move("infer", infer);
  move("clear", clear);
  fileLists.clear();
  listsFile.clear();
}

void StepOptions::resolve() {
  amp.resolve();
  clip.reportNorm = clip.reportNorm || outlier.gradientZ != 0;
  if (schedule.name == "onecycle" && schedule.cycleMomentum)
    optimizer.cycledMomentum = schedule.maxMomentum;
  optimizer.resolve();
  if (scaler.scale == "auto")
    scaler.scale = amp.dtype == "fp16" && amp.enabled() && amp.level != "O3"
                       ? "dynamic"
                       : "none";
  if (ema.kind == "auto")
    ema.kind = ema.decay || ema.halflife ? "constant" : "ultralytics";
  if (!ema.decay && !ema.halflife && ema.kind != "swa")
    ema.decay = 0.9999;
}

namespace {

using Create = std::unique_ptr<Pass> (*)();

/// Before autocast only shapes say who can compute an attention.
std::unique_ptr<Pass> createPlaceAttentionByShape() {
  return createPlaceAttention({.typed = false});
}

} // namespace

std::vector<Phase> trainingPhases(StepOptions o) {
  o.resolve();
  std::vector<Phase> phases;
  auto when = [&](bool isOn, const char *name, const char *sentence,
                  std::vector<Create> passes) {
    phases.push_back({name, sentence, [=](OpPassManager &pm) {
                        if (isOn)
                          for (Create create : passes)
                            pm.addPass(with(o, create()));
                      }});
  };
  auto always = [&](const char *name, const char *sentence,
                    std::vector<Create> passes) {
    when(true, name, sentence, std::move(passes));
  };
  const bool attends = mayAttend(o, *makeTarget(o.target));
  always("canonicalize", "each idea of the model is one op",
         {createCanonicalize});
  always("infer-shapes", "every tensor has a static shape",
         {createInferShapes});
  when(o.lora.rank != 0, "lora",
       "weights are frozen, adapters beside them are trained",
       {createInsertLora});
  always("loss", "@train_step gives a scalar loss, @eval_step that of each row",
         {createAppendLoss, createTrainMode, createRandomize});
  always("attention", "attention is one op, if something can compute it as one",
         attends ? std::vector<Create>{createFuseAttention,
                                       createPlaceAttentionByShape}
                 : std::vector<Create>{createPlaceAttentionByShape});
  when(o.amp.enabled(), "autocast",
       "matrix products compute in half, by lists or level", {createAutocast});
  when(attends, "place-attention",
       "what is still one op has somebody who computes it",
       {createPlaceAttention});
  always("autodiff", "every trainable parameter has a gradient",
         {createAutodiff});
  always("scale-loss", "the backward graph starts at 1, or at the loss scale",
         o.scaler.perLoss
             ? std::vector<Create>{createScaleLoss, createUnscaleLosses}
             : std::vector<Create>{createScaleLoss});
  when(o.accumulate.count != 1, "accumulate",
       "@accumulate_step adds up the gradients of a window",
       {createAccumulateGradients});
  always("all-reduce", "gradients and loss are means over the ranks",
         o.allReduce.compress == "powersgd"
             ? std::vector<Create>{createInsertAllReduce, createPowerSgd}
             : std::vector<Create>{createInsertAllReduce});
  when(o.allReduce.syncs(), "sync-bn",
       "batch norm is by the batches of all ranks together",
       {createSyncBatchNorm});
  when(o.scaler.scale != "none", "unscale",
       "gradients are those of the loss, and a flag says whether they are "
       "finite",
       {createUnscale});
  when(o.statistics.enabled, "measure-gradients",
       "what each gradient is like is reported", {createMeasureGradients});
  when(o.clip.maxParameterNorm != 0, "clip-each",
       "the norm of each parameter's gradient is bounded",
       {createClipEachGradient});
  when(o.clip.maxNorm != 0 || o.clip.maxValue != 0 || o.clip.reportNorm, "clip",
       "the gradients' common norm is bounded", {createClipGradients});
  when(o.outlier.lossZ != 0 || o.outlier.gradientZ != 0, "skip-outliers",
       "a step that stands out changes nothing", {createSkipOutliers});
  always("optimizer",
         "parameters and moments move, at a rate computed from the step",
         {createInsertOptimizer});
  when(o.statistics.enabled, "measure-parameters",
       "and what each parameter becomes", {createMeasureParameters});
  when(o.ema.enabled, "ema", "averages follow the parameters",
       {createInsertEma});
  always("simplify", "nothing is computed twice", {createCanonicalize});
  return phases;
}

std::vector<Phase> predictionPhases(StepOptions o) {
  const llvm::StringSet<> kept = {
      "canonicalize", "infer-shapes",    "loss",    "attention",
      "autocast",     "place-attention", "simplify"};
  std::vector<Phase> phases = trainingPhases(o);
  llvm::erase_if(phases,
                 [&](const Phase &p) { return !kept.contains(p.name); });
  for (Phase &phase : phases)
    if (phase.name == "loss")
      phase = {
          "randomize", "dropout is gone, and noise a function of the seed",
          [o](OpPassManager &pm) { pm.addPass(with(o, createRandomize())); }};
  return phases;
}

std::optional<std::string> stopAfter(std::vector<Phase> &phases,
                                     const std::string &last) {
  if (last.empty())
    return std::nullopt;
  auto found =
      llvm::find_if(phases, [&](const Phase &p) { return p.name == last; });
  if (found != phases.end()) {
    phases.erase(std::next(found), phases.end());
    return std::nullopt;
  }
  std::string known;
  for (const Phase &phase : phases)
    known += (known.empty() ? "" : ", ") + phase.name;
  return "unknown phase '" + last + "', known are " + known;
}

namespace {

/// What --dlc-train takes: all options of a step, by their flags.
struct TrainPipeline : PassPipelineOptions<TrainPipeline> {
  TrainPipeline() {
    options.addTo(table);
    texts.add(table, 0, [&](auto &&...arguments) {
      return std::make_unique<ListOption<std::string>>(*this, arguments...);
    });
  }

  Option<std::string> stopAfter{*this, "stop-after",
                                llvm::cl::desc("last phase")};
  StepOptions options;
  OptionTable table;
  TextOptions texts;
};

void addPhases(OpPassManager &pm, const TrainPipeline &pipeline) {
  Status valid = pipeline.texts.apply(pipeline.table); // sets the options
  if (!valid.ok())
    llvm::report_fatal_error(StringRef(valid.message()), false);
  std::vector<Phase> phases = trainingPhases(pipeline.options);
  if (auto unknown = stopAfter(phases, pipeline.stopAfter))
    llvm::report_fatal_error(StringRef(*unknown), false);
  for (const Phase &phase : phases)
    phase.add(pm);
}

} // namespace

void registerPasses() {
  registerDlcPasses();
  PassPipelineRegistration<TrainPipeline> train(
      "dlc-train", "all training passes in order", addPhases);
}

} // namespace dlc

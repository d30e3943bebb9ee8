#include "passes/Pipeline.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"

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

std::vector<Phase> trainingPhases(StepOptions o) {
  o.resolve();
  auto when = [](bool on, auto add) {
    return [=](OpPassManager &pm) {
      if (on)
        add(pm);
    };
  };
  auto always = [&](auto add) { return when(true, add); };
  bool scaled = o.scaler.scale != "none";
  return {
      {"canonicalize", "each idea of the model is one op",
       always([](auto &pm) { pm.addPass(createCanonicalize()); })},
      {"infer-shapes", "every tensor has a static shape",
       always([](auto &pm) { pm.addPass(createInferShapes()); })},
      {"lora", "weights are frozen, adapters beside them are trained",
       when(o.lora.rank != 0,
            [=](auto &pm) {
              pm.addPass(createInsertLora(o.lora, o.random.seed));
            })},
      {"loss", "@train_step gives a scalar loss, @eval_step that of each row",
       always([=](auto &pm) {
         pm.addPass(createAppendLoss(o.loss));
         pm.addPass(createTrainMode(o.loss));
         pm.addPass(createRandomize(o.random));
       })},
      {"attention", "attention is one op, if something can compute it as one",
       always([=](auto &pm) {
         if (o.attention.who() != "off")
           pm.addPass(createFuseAttention(o.attention));
         pm.addPass(createPlaceAttention(o.attention, false));
       })},
      {"autocast", "matrix products compute in half, by lists or level",
       when(o.amp.enabled(),
            [=](auto &pm) { pm.addPass(createAutocast(o.amp)); })},
      {"place-attention", "what is still one op has somebody who computes it",
       when(o.attention.who() != "off",
            [=](auto &pm) {
              pm.addPass(createPlaceAttention(o.attention, true));
            })},
      {"autodiff", "every trainable parameter has a gradient",
       always([=](auto &pm) {
         AutodiffOptions options;
         options.perLoss = o.scaler.perLoss;
         pm.addPass(createAutodiff(options));
       })},
      {"scale-loss", "the backward graph starts at 1, or at the loss scale",
       always([=](auto &pm) {
         pm.addPass(createScaleLoss(o.scaler, o.accumulate));
         if (o.scaler.perLoss)
           pm.addPass(createUnscaleLosses());
       })},
      {"accumulate", "@accumulate_step adds up the gradients of a window",
       when(o.accumulate.count != 1,
            [=](auto &pm) {
              pm.addPass(createAccumulateGradients(o.accumulate));
            })},
      {"all-reduce", "gradients and loss are means over the ranks",
       always(
           [=](auto &pm) { pm.addPass(createInsertAllReduce(o.allReduce)); })},
      {"unscale",
       "gradients are those of the loss, and a flag says whether they are "
       "finite",
       when(scaled, [=](auto &pm) { pm.addPass(createUnscale(o.scaler)); })},
      {"clip", "the gradients' common norm is bounded",
       when(o.clip.maxNorm != 0 || o.clip.maxValue != 0 || o.clip.reportNorm,
            [=](auto &pm) { pm.addPass(createClipGradients(o.clip)); })},
      {"skip-outliers", "a step that stands out changes nothing",
       when(o.outlier.lossZ != 0 || o.outlier.gradientZ != 0,
            [=](auto &pm) { pm.addPass(createSkipOutliers(o.outlier)); })},
      {"optimizer",
       "parameters and moments move, at a rate computed from the step",
       always([=](auto &pm) {
         pm.addPass(createInsertOptimizer(o.optimizer, o.schedule));
       })},
      {"ema", "averages follow the parameters",
       when(o.ema.enabled,
            [=](auto &pm) {
              pm.addPass(createInsertEma(o.ema, o.allReduce.world *
                                                    o.accumulate.count));
            })},
      {"simplify", "nothing is computed twice",
       always([](auto &pm) { pm.addPass(createCanonicalize()); })},
  };
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
/// What dlc-opt's --dlc-train can set; the command line of dlc sets all of
/// StepOptions.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> stopAfter{*this, "stop-after",
                                llvm::cl::desc("last phase")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::init("sgd")};
  Option<std::string> amp{*this, "amp", llvm::cl::desc("bf16 or fp16")};
  Option<std::string> ampLevel{*this, "amp-level", llvm::cl::init("O1")};
  Option<int64_t> world{*this, "world", llvm::cl::init(1)};
  Option<double> clip{*this, "clip", llvm::cl::init(0)};
  Option<bool> ema{*this, "ema", llvm::cl::init(false)};
};
} // namespace

void registerPasses() {
  registerDlcPasses();
  PassPipelineRegistration<PipelineOptions> train(
      "dlc-train", "all training passes in order",
      [](OpPassManager &pm, const PipelineOptions &p) {
        StepOptions o;
        o.optimizer.name = p.optimizer;
        if (!p.amp.empty()) {
          o.amp.level = p.ampLevel;
          o.amp.dtype = p.amp;
        }
        o.allReduce.world = p.world;
        o.clip.maxNorm = p.clip;
        o.ema.enabled = p.ema;
        std::vector<Phase> phases = trainingPhases(o);
        if (auto unknown = stopAfter(phases, p.stopAfter))
          llvm::report_fatal_error(llvm::StringRef(*unknown), false);
        for (const Phase &phase : phases)
          phase.add(pm);
      });
}

} // namespace dlc

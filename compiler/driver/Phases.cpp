// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Phases.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

#include <fmt/ranges.h>

using namespace mlir;

namespace dlc {
namespace {

/// --debug-overflow checks each op by itself, so products have no epilogues.
Wishes wishesOf(const StepOptions &options) {
  Wishes wishes = options.placement;
  if (options.debugOverflow) {
    wishes.matmul = "library";
    wishes.epilogues = "off";
  }
  return wishes;
}

using C = const PhaseContext &;
using Create = std::unique_ptr<Pass> (*)();

/// A pass that reads the options of a step.
template <Create create> PassStep step(When when = always) {
  return {[](C c) { return with(c.options.train, create()); }, when};
}
/// A pass that queries the target.
template <Create create> PassStep ask(When when = always) {
  return {[](C c) { return with(c.lowering, create()); }, when};
}
/// One without options.
template <Create create> PassStep plain(When when = always) {
  return {[](C) { return create(); }, when};
}

/// Whether the target has several ways for ops of this name in --place.
bool chooses(C c, StringRef row) { return c.lowering.target->chooses(row); }
bool isChannelsLast(C c) {
  return c.options.layout == "auto" ? c.traits.channelsLast
                                    : c.options.layout == "nhwc";
}
/// Whether column sums also compute what they add up: a gradient that several
/// of them read, or that is spread.
bool sumsInPlace(C c) {
  return c.traits.storesSummed && !c.options.train.debugOverflow;
}
bool isStatistics(C c) { return c.options.train.statistics.enabled; }
bool joinsLaunches(C c) {
  return c.traits.fewLaunches && !c.options.train.debugOverflow;
}
/// Whether separate launches for large parameters are cheap.
bool updatesEarly(C c) {
  return !c.traits.fewLaunches && !c.options.train.debugOverflow;
}
const AllReduceOptions &ranks(C c) { return c.options.train.allReduce; }
template <int level> bool isZero(C c) { return ranks(c).level() >= level; }

RecomputeOptions recompute(C c) {
  const MemoryOptions &memory = c.options.memory;
  return {{memory.recompute.begin(), memory.recompute.end()},
          memory.budget,
          memory.offload};
}

constexpr Mode Train = Mode::Train, Predict = Mode::Predict, Both = Mode::Both;

const Phase kPhases[] = {
    {"import", "the model is one function, its weights are states", Both, {}},
    {"canonicalize",
     "equal computations have one form",
     Both,
     {step<createCanonicalize>()}},
    {"infer-shapes",
     "every tensor has a static shape, inputs of pixels are uint8",
     Both,
     {step<createInferShapes>(), step<createUint8Inputs>([](C c) {
        return !c.options.train.inputs.pixels.empty();
      })}},
    {"lora",
     "weights are frozen, low-rank adapters beside them train",
     Train,
     {step<createInsertLora>(
         [](C c) { return c.options.train.lora.rank != 0; })}},
    {"pack",
     "attention stays within the documents of a row",
     Both,
     {plain<createPackDocuments>([](C c) { return c.options.pack; })}},
    {"loss",
     "@train_step returns a scalar loss, @eval_step the loss of each row",
     Train,
     {step<createAppendLoss>(), step<createTrainMode>(),
      step<createRandomize>(), step<createInlineTeacher>([](C c) {
        return !c.options.train.distill.terms.empty();
      })}},
    {"randomize",
     "dropout and noise are functions of the seed",
     Predict,
     {step<createRandomize>()}},
    {"decode",
     "@decode computes @predict for one token of a text",
     Both,
     {plain<createDeriveDecode>([](C c) { return c.options.decode; })}},
    {"slice-early",
     "rows that a slice drops are not computed by row-wise ops",
     Both,
     {step<createSliceEarly>()}},
    {"trim-taps",
     "convolutions have no taps that only read padding",
     Both,
     {plain<createTrimTaps>()}},
    {"group-matmul",
     "products with gathered matrices are grouped ones, without copies",
     Both,
     {plain<createGroupMatmul>([](C c) { return c.traits.groupsProducts; })}},
    {"attention",
     "attention is one op where the target can compute it as one",
     Both,
     {plain<createOrderRows>(), step<createFuseAttention>(), {[](C c) {
        // Before autocast only shapes restrict the ways of an attention.
        return with(c.options.train, createPlaceAttention({.typed = false}));
      }}}},
    {"autocast",
     "matrix products compute in 16 bits, by lists or level",
     Both,
     {step<createAutocast>([](C c) { return c.options.train.amp.enabled(); }),
      step<createBlockImages>([](C c) { return c.traits.blocksFewChannels; })}},
    {"place-attention",
     "each attention op has its implementation",
     Both,
     {step<createPlaceAttention>()}},
    {"autodiff",
     "every trainable parameter has a gradient",
     Train,
     {step<createAutodiff>()}},
    {"quantize-products",
     "products in 8-bit floats read codes and scales",
     Train,
     {step<createQuantizeProducts>(
         [](C c) { return c.options.train.amp.float8(); })}},
    {"scale-loss",
     "the backward graph starts at 1, or at the loss scale",
     Train,
     {step<createScaleLoss>()}},
    {"accumulate",
     "@accumulate_step adds up the gradients of a window",
     Train,
     {step<createAccumulateGradients>(
         [](C c) { return c.options.train.accumulate.count != 1; })}},
    {"row-gradients",
     "gradients of embedding tables are sparse where possible",
     Train,
     {step<createRowGradients>()}},
    {"all-reduce",
     "gradients and loss are means over the ranks",
     Train,
     {step<createInsertAllReduce>()}},
    {"reduce-amax",
     "scales of 8-bit floats are the same on all ranks",
     Train,
     {step<createReduceAmax>(
         [](C c) { return c.options.train.amp.delaysScales(); })}},
    {"sync-bn",
     "batch norm normalises by the batches of all ranks",
     Train,
     {step<createSyncBatchNorm>([](C c) { return ranks(c).syncs(); })}},
    {"unscale",
     "gradients are those of the loss, a flag says whether all are finite",
     Train,
     {step<createUnscale>(
         [](C c) { return c.options.train.scaler.scale != "none"; })}},
    {"measure-gradients",
     "the step reports statistics of each gradient",
     Train,
     {step<createMeasureGradients>(isStatistics)}},
    {"clip-each",
     "the norm of each parameter's gradient is bounded",
     Train,
     {step<createClipEachGradient>(
         [](C c) { return c.options.train.clip.maxParameterNorm != 0; })}},
    {"clip",
     "the norm of all gradients together is bounded",
     Train,
     {step<createClipGradients>([](C c) {
       const ClipOptions &clip = c.options.train.clip;
       return clip.maxNorm != 0 || clip.maxValue != 0 || clip.reportNorm;
     })}},
    {"optimizer",
     "parameters and moments are updated, at a rate computed from the step",
     Train,
     {step<createInsertOptimizer>()}},
    {"measure-parameters",
     "the step reports statistics of each parameter",
     Train,
     {step<createMeasureParameters>(isStatistics)}},
    {"ema",
     "averages follow the parameters",
     Train,
     {step<createInsertEma>([](C c) { return c.options.train.ema.enabled; })}},
    {"start-whole",
     "@start_step does the first updates without compression",
     Train,
     {step<createStartWhole>([](C c) { return ranks(c).powerStart > 0; })}},
    {"local-steps",
     "ranks that update locally have @sync_step",
     Train,
     {step<createLocalSteps>([](C c) { return ranks(c).syncEvery > 0; })}},
    {"simplify",
     "common subexpressions are computed once",
     Both,
     {step<createCanonicalize>()},
     true},
    {"layout",
     "images have the layout that the target prefers",
     Both,
     {{[](C c) { return createLayout({c.traits.filtersLast}); },
       isChannelsLast},
      plain<createCanonicalizerPass>(isChannelsLast)}},
    {"decompose",
     "ops without a library call are elementwise, reduce and shape ops",
     Both,
     {plain<createCompress>(),
      plain<createInferLimits>(),
      {[](C c) {
         const MemoryOptions &memory = c.options.memory;
         return createChunkLoss(
             {memory.lossRows, memory.budget, c.traits.largeLogits});
       },
       [](C c) { return c.options.memory.lossRows != MemoryOptions::kWhole; }},
      plain<createSplitCodes>(),
      plain<createJoinAttention>([](C c) { return c.traits.joinsAttention; }),
      plain<createSpreadGradients>(sumsInPlace),
      ask<createMatmulEpilogues>(
          [](C c) { return chooses(c, "matmul-epilogue"); }),
      ask<createPlace>(),
      plain<createNormCalls>([](C c) { return chooses(c, "norm"); }),
      plain<createPairNorms>(sumsInPlace),
      {[](C c) { return createDecompose({isZero<2>(c) || joinsLaunches(c)}); }},
      {[](C c) { return createSplitReductions({c.traits.fewOutputs}); }},
      plain<createCanonicalizerPass>(),
      plain<createCSEPass>()}},
    {"fuse",
     "ops that share loops are one kernel",
     Both,
     {plain<createRecomputeCheap>([](C c) {
        return c.traits.recomputesCheap && !c.options.train.debugOverflow;
      }),
      plain<createReleaseGradients>(updatesEarly),
      {[](C c) {
        return createFuse({c.options.train.debugOverflow,
                           c.traits.repeatsCheapOps, c.traits.fewLaunches,
                           c.traits.computesInWindows});
      }},
      plain<createGenerateOps>(),
      plain<createStoreSummed>(sumsInPlace),
      ask<createFuseMatmul>([](C c) { return chooses(c, "matmul"); }),
      plain<createWidenProducts>(),
      plain<createPackMasks>([](C c) {
        return c.traits.packsMasks && !c.options.train.debugOverflow;
      })}},
    {"shard",
     "types mark the tensors that --zero shards over ranks",
     Both,
     {{[](C c) {
         return createShard({ranks(c).zero, ranks(c).zeroWholeBytes});
       },
       isZero<1>}}},
    {"join-casts",
     "casts of parameters are one launch, as are those and norms of adjacent "
     "gradients",
     Both,
     {plain<createJoinCasts>(joinsLaunches),
      plain<createGatherCopies>(joinsLaunches),
      plain<createJoinNorms>(joinsLaunches)}},
    {"update-early",
     "large parameters are updated as soon as their gradients are complete",
     Train,
     {plain<createUpdateEarly>(updatesEarly)}},
    {"recompute",
     "activations that are not stored are recomputed, or fetched from the "
     "host, where they are read",
     Both,
     {{[](C c) { return with(c.lowering, createRecompute(recompute(c))); }}}},
    {"time-collectives",
     "parameters are gathered ahead of their uses",
     Both,
     {{[](C c) { return createTimeCollectives({ranks(c).zeroPrefetch}); },
       isZero<3>}}},
    {"memory",
     "programs are commands on buffers at fixed offsets",
     Both,
     {plain<createPlanMemory>()}},
    {"launches",
     "launches are merged: of one kernel on adjacent buffers, of sums and "
     "their readers, consecutive small ones",
     Both,
     {ask<createJoinStages>(joinsLaunches), plain<createMergeLaunches>(),
      ask<createJoinSmall>(joinsLaunches)}},
    {"schedule",
     "every kernel has a schedule of its loops",
     Both,
     {plain<createScheduleKernels>()}},
    {"parts",
     "launches and collectives on shards have the shards' sizes",
     Both,
     {plain<createNumberParts>(isZero<1>)}},
    {"threads",
     "every kernel has a mapping to the target's threads",
     Both,
     {ask<createMapThreads>()}},
};

bool isIn(const Phase &phase, const CompileOptions &options) {
  const Mode mode = options.predictOnly ? Mode::Predict : Mode::Train;
  return unsigned(phase.mode) & unsigned(mode);
}

} // namespace

PhaseContext::PhaseContext(const CompileOptions &given)
    : options(given.resolved()), lowering{makeTarget(options.train.target),
                                          wishesOf(options.train)},
      traits(lowering.target->lowering()) {}

std::span<const Phase> allPhases() { return kPhases; }

Result<std::vector<const Phase *>> phasesOf(const CompileOptions &options) {
  std::vector<const Phase *> phases;
  for (const Phase &phase : allPhases())
    if (isIn(phase, options))
      phases.push_back(&phase);
  if (isLowered(options))
    return phases;
  auto last = llvm::find_if(
      phases, [&](const Phase *p) { return p->name == options.stopAfter; });
  if (last != phases.end()) {
    phases.erase(std::next(last), phases.end());
    return phases;
  }
  std::vector<std::string_view> known;
  for (const Phase *phase : phases)
    known.push_back(phase->name);
  return usageError("unknown phase '{}', known are {}", options.stopAfter,
                    fmt::join(known, ", "));
}

bool isLowered(const CompileOptions &options) {
  return options.stopAfter.empty() || options.stopAfter == "plan" ||
         options.stopAfter == allPhases().back().name;
}

void addPhase(const Phase &phase, const PhaseContext &context,
              OpPassManager &passes) {
  for (const PassStep &step : phase.passes) {
    if (!step.when(context))
      continue;
    std::unique_ptr<Pass> pass = step.make(context);
    if (pass->getOpName() == func::FuncOp::getOperationName())
      passes.addNestedPass<func::FuncOp>(std::move(pass));
    else
      passes.addPass(std::move(pass));
  }
}

LogicalResult runPhase(const Phase &phase, const PhaseContext &context,
                       ModuleOp module) {
  PassManager passes(module.getContext());
  addPhase(phase, context, passes);
  return passes.run(module);
}

void registerEverything(DialectRegistry &registry) {
  registry.insert<ir::DlcDialect, exec::ExecDialect, func::FuncDialect>();
  registerGradients(registry);
  registerDecompositions(registry);
}

} // namespace dlc

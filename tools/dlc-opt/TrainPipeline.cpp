// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc-opt/TrainPipeline.h"
#include "compiler/driver/Phases.h"
#include "compiler/options/OptionPass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace dlc::tool {
namespace {

/// All options of a step, as pass options.
struct TrainPipeline : PassPipelineOptions<TrainPipeline> {
  TrainPipeline() {
    options.train.addTo(table);
    texts.add(table, 0, [&](auto &&...arguments) {
      return std::make_unique<ListOption<std::string>>(*this, arguments...);
    });
  }

  Option<std::string> stopAfter{*this, "stop-after",
                                llvm::cl::desc("last phase"),
                                llvm::cl::init("simplify")};
  CompileOptions options;
  OptionTable table;
  TextOptions texts;
};

void addPhases(OpPassManager &passes, const TrainPipeline &pipeline) {
  if (Status valid = pipeline.texts.apply(pipeline.table); !valid.ok())
    llvm::report_fatal_error(StringRef(valid.message()), false);
  CompileOptions options = pipeline.options;
  options.stopAfter = pipeline.stopAfter;
  const auto phases = phasesOf(options);
  if (!phases)
    llvm::report_fatal_error(StringRef(phases.status().message()), false);
  const PhaseContext context(options);
  for (const Phase *phase : *phases)
    addPhase(*phase, context, passes);
}

} // namespace

void registerTrainPipeline() {
  PassPipelineRegistration<TrainPipeline>(
      "dlc-train", "the phases of training in order", addPhases);
}

} // namespace dlc::tool

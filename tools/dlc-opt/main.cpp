// SPDX-License-Identifier: Apache-2.0
// dlc-opt: runs passes on dlc programs, for tests and to inspect passes.
#include "compiler/driver/Phases.h"
#include "compiler/lower/Lower.h"
#include "compiler/options/OptionPass.h"
#include "compiler/target/Target.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "tools/process/Process.h"

namespace dlc::tool {
namespace {

/// All options of a step, as pass options.
struct TrainPipeline : mlir::PassPipelineOptions<TrainPipeline> {
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

void addPhases(mlir::OpPassManager &passes, const TrainPipeline &pipeline) {
  if (Status valid = pipeline.texts.apply(pipeline.table); !valid.ok())
    llvm::report_fatal_error(llvm::StringRef(valid.message()), false);
  CompileOptions options = pipeline.options;
  options.stopAfter = pipeline.stopAfter;
  const auto phases = phasesOf(options);
  if (!phases)
    llvm::report_fatal_error(llvm::StringRef(phases.status().message()), false);
  const PhaseContext context(options);
  for (const Phase *phase : *phases)
    addPhase(*phase, context, passes);
}

int run(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerEverything(registry);
  registerPasses();
  // --dlc-train="stop-after=PHASE FLAG=VALUE ...": the training phases up to
  // PHASE (default: simplify), with options of a step.
  mlir::PassPipelineRegistration<TrainPipeline>(
      "dlc-train", "the phases of training in order", addPhases);
  registerLowerPasses(makeTarget({.name = "cuda"}));
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "dlc program optimizer\n", registry));
}

} // namespace
} // namespace dlc::tool

int main(int argc, char **argv) {
  return dlc::process::runMain("dlc-opt",
                               [&] { return dlc::tool::run(argc, argv); });
}

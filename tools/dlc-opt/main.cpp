// SPDX-License-Identifier: Apache-2.0
// dlc-opt: runs passes on dlc programs, for tests and to inspect passes.
#include "compiler/driver/Phases.h"
#include "compiler/lower/Lower.h"
#include "compiler/target/Target.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "tools/dlc-opt/TrainPipeline.h"
#include "tools/process/Process.h"

static int run(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dlc::registerEverything(registry);
  dlc::registerPasses();
  dlc::tool::registerTrainPipeline();
  dlc::registerLowerPasses(dlc::makeTarget({.name = "cuda"}));
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "dlc program optimizer\n", registry));
}

int main(int argc, char **argv) {
  return dlc::process::runMain("dlc-opt", [&] { return run(argc, argv); });
}

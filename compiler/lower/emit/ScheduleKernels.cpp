// Says how each kernel's loops run: the last pass, when no kernel changes any
// more.
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/Lower.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {
namespace {

struct ScheduleKernels : PassWrapper<ScheduleKernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScheduleKernels)
  StringRef getArgument() const final { return "dlc-schedule-kernels"; }
  StringRef getDescription() const final {
    return "say how each kernel's loops run, and what it costs";
  }
  void runOnOperation() final {
    if (failed(scheduleKernels(getOperation())))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleKernels() {
  return std::make_unique<ScheduleKernels>();
}

} // namespace dlc

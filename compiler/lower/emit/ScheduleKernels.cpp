// SPDX-License-Identifier: Apache-2.0
// Says how each kernel's loops run: the last pass, when no kernel changes any
// more.
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/Lower.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_SCHEDULEKERNELS
#include "compiler/lower/Passes.h.inc"

namespace {

struct ScheduleKernels : impl::ScheduleKernelsBase<ScheduleKernels> {
  void runOnOperation() final {
    if (failed(scheduleKernels(getOperation())))
      signalPassFailure();
  }
};

} // namespace

} // namespace dlc

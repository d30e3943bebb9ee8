// SPDX-License-Identifier: Apache-2.0
// Chooses the schedules of kernels: the last pass, as kernels are final.
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

// SPDX-License-Identifier: Apache-2.0
// Converts dlc functions to exec programs: places first, then commands.
#include "compiler/lower/Lower.h"
#include "compiler/lower/emit/EmitProgram.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_PLANMEMORY
#include "compiler/lower/Passes.h.inc"

namespace {

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() final {
    ModuleOp module = getOperation();
    StateLayout layout = layoutStates(module);
    KernelTable kernels(module);
    int64_t scratch = 0, gradient = 0, host = 0;
    for (auto f : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      Placement places(f, layout);
      if (failed(emitProgram(f, places, kernels)))
        return signalPassFailure();
      gradient = std::max(gradient, places.gradientBytes());
      scratch = std::max(scratch, places.scratchBytes());
      host = std::max(host, places.hostBytes());
      f->dropAllReferences();
      f->erase();
    }
    declare(module, layout, scratch, gradient, host);
  }

  /// Declares regions and states at the beginning of the module.
  void declare(ModuleOp module, StateLayout &layout, int64_t scratch,
               int64_t gradient, int64_t host) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    for (auto [name, bytes] : layout.bytes)
      exec::RegionOp::create(b, module.getLoc(), name, "state", bytes);
    if (gradient)
      exec::RegionOp::create(b, module.getLoc(), "gradient", "gradient",
                             gradient);
    exec::RegionOp::create(b, module.getLoc(), "scratch", "scratch", scratch);
    if (host)
      exec::RegionOp::create(b, module.getLoc(), "host", "host", host);
    for (auto s : llvm::make_early_inc_range(module.getOps<ir::StateOp>())) {
      const Place &p = layout.places[s.getSymName()];
      b.setInsertionPoint(s);
      exec::StateOp::create(b, s.getLoc(), s.getSymName(), s.getType(),
                            ir::stringifyRole(s.getRole()), p.region, p.offset,
                            s.getInit(), s.getOfAttr(), s.getTrainable());
      s.erase();
    }
  }
};

} // namespace

} // namespace dlc

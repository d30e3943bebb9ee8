// SPDX-License-Identifier: Apache-2.0
// Each rank updates, and keeps the moments and averages of, a part of the
// parameters. Types say so: tensor<4xf32, @w> is split as @w is. Kernels do not
// change, so neither do the numbers; how a tensor is split, dlc-number-parts
// and the run say.
//
//   1. A cluster that updates moments, averages or parameters element by
//      element works on parts.
//   2. What it reads whole it takes its part of; whole parameters it completes
//      by an all-gather.
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_SHARD
#include "compiler/lower/Passes.h.inc"

namespace {

bool isScalar(Value v) { return ir::tensorType(v).getRank() == 0; }

/// Element i of every tensor is computed of elements i, and any as the first.
bool isElementwise(ir::FusedOp fused) {
  ArrayRef<int64_t> full;
  auto fits = [&](Value v) {
    auto type = ir::tensorType(v);
    if (type.getRank() && full.empty())
      full = type.getShape();
    return !type.getRank() || type.getShape() == full;
  };
  Block &body = fused.getBody().front();
  return llvm::all_of(body.getArguments(), fits) &&
         llvm::all_of(body, [&](Operation &op) {
           if (auto constant = dyn_cast<ir::ConstantOp>(op))
             if (!isa<SplatElementsAttr>(constant.getValue()))
               return false;
           return isa<ir::ElementwiseInterface, ir::ConstantOp, ir::YieldOp>(
                      op) &&
                  llvm::all_of(op.getResults(), fits);
         });
}

class Sharder {
public:
  Sharder(ModuleOp module, int64_t level)
      : module(module), symbols(module), level(level) {}

  LogicalResult run() {
    for (auto state : module.getOps<ir::StateOp>())
      if (state.getRole() == ir::Role::moment ||
          (state.getRole() == ir::Role::ema && isOfParameter(state)))
        state.setType(ir::splitType(state.getType(), state.getOfAttr()));
    for (auto f : module.getOps<func::FuncOp>())
      for (auto read : f.getOps<ir::ReadOp>())
        read.getValue().setType(
            symbols.lookup<ir::StateOp>(read.getState()).getTensorType());
    for (auto f : module.getOps<func::FuncOp>())
      for (auto fused : llvm::make_early_inc_range(f.getOps<ir::FusedOp>()))
        if (FlatSymbolRefAttr of = parameterOf(fused))
          shard(fused, of);
    for (auto f : module.getOps<func::FuncOp>())
      for (Operation &op : f.front())
        if (failed(check(&op)))
          return failure();
    return success();
  }

private:
  bool isOfParameter(ir::StateOp state) {
    auto of = symbols.lookup<ir::StateOp>(state.getOf().value_or(""));
    return of && of.getRole() == ir::Role::param;
  }

  /// The state that has `v` as its new value; null if there is none.
  ir::StateOp writtenOf(Value v) {
    for (Operation *user : v.getUsers())
      if (auto write = dyn_cast<ir::WriteOp>(user))
        return symbols.lookup<ir::StateOp>(write.getState());
    return nullptr;
  }

  /// What a cluster updates, and nothing else; null if its work is not shared
  /// out.
  FlatSymbolRefAttr parameterOf(ir::FusedOp fused) {
    FlatSymbolRefAttr of;
    bool isShared = false;
    for (Value v : fused.getOutputs()) {
      ir::StateOp state = writtenOf(v);
      if (!state || isScalar(v))
        return nullptr;
      FlatSymbolRefAttr own = ir::splitOf(state.getType());
      isShared |= own || level > 1;
      if (!own && state.getRole() == ir::Role::param)
        own = FlatSymbolRefAttr::get(state.getSymNameAttr());
      if (!own || (of && of != own))
        return nullptr;
      of = own;
    }
    return isShared && isElementwise(fused) ? of : nullptr;
  }

  void shard(ir::FusedOp fused, FlatSymbolRefAttr of) {
    OpBuilder b(fused);
    for (OpOperand &operand : fused->getOpOperands())
      if (!isScalar(operand.get()) && !ir::splitOf(operand.get()))
        operand.set(partOf(b, operand.get(), of));
    b.setInsertionPointAfter(fused);
    for (Value v : fused.getOutputs()) {
      const Type type = v.getType();
      v.setType(ir::splitType(type, of));
      if (ir::splitOf(writtenOf(v).getType()))
        continue;
      auto whole =
          ir::AllGatherOp::create(b, fused.getLoc(), type, v, IntegerAttr());
      v.replaceAllUsesExcept(whole.getY(), whole);
    }
  }

  Value partOf(OpBuilder &b, Value x, FlatSymbolRefAttr of) {
    if (auto gather = x.getDefiningOp<ir::AllGatherOp>())
      return gather.getX();
    return ir::TakeShardOp::create(b, x.getLoc(),
                                   ir::splitType(x.getType(), of), x);
  }

  /// Nothing else reads or writes what is in parts.
  LogicalResult check(Operation *op) {
    if (isa<ir::AllGatherOp>(op) ||
        (isa<ir::FusedOp>(op) && ir::splitOf(op->getResult(0))))
      return success();
    if (auto write = dyn_cast<ir::WriteOp>(op)) {
      auto state = symbols.lookup<ir::StateOp>(write.getState());
      return state.getType() == write.getValue().getType() ? success()
                                                           : refuse(state);
    }
    for (Value v : op->getOperands())
      if (ir::splitOf(v)) {
        auto read = v.getDefiningOp<ir::ReadOp>();
        return refuse(read ? symbols.lookup<ir::StateOp>(read.getState())
                           : writtenOf(v));
      }
    return success();
  }
  static LogicalResult refuse(ir::StateOp state) {
    return state.emitError("--zero: what updates '")
           << state.getSymName()
           << "' needs more of its tensor than the element that it updates "
              "(as lamb and muon do) and cannot be done in parts; use another "
              "optimizer, or --zero=0";
  }

  ModuleOp module;
  SymbolTable symbols;
  const int64_t level;
};

struct Shard : impl::ShardBase<Shard> {
  using ShardBase::ShardBase;

  void runOnOperation() final {
    if (failed(Sharder(getOperation(), level).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dlc

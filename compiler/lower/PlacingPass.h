// SPDX-License-Identifier: Apache-2.0
// What the passes are that pick who computes an op.
#pragma once

#include "compiler/lower/Lower.h"
#include "compiler/placement/Placer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// Gives a Placer to `place` of each function. In dlc-opt the users' wishes are
/// its options.
class PlacingPass : public TargetPass {
public:
  void runOnOperation() final {
    Placer placer(*options.target, options.placement);
    for (auto f : getOperation().getOps<mlir::func::FuncOp>())
      if (failed(place(f, *options.target, placer)))
        return signalPassFailure();
    placer.leaveNotes(getOperation());
  }

protected:
  explicit PlacingPass(mlir::TypeID id) : TargetPass(id) {
    reads<&LoweringOptions::placement>();
  }
  PlacingPass(const PlacingPass &) = default;

  virtual llvm::LogicalResult place(mlir::func::FuncOp f, const Target &target,
                                    Placer &placer) = 0;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Base class of the passes that choose how an op is computed.
#pragma once

#include "compiler/lower/Lower.h"
#include "compiler/placement/Placer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// Calls `place` with a Placer for each function. In dlc-opt the user's
/// preferences are pass options.
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

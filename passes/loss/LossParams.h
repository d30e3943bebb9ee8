// SPDX-License-Identifier: Apache-2.0
// The parameters that each of several losses trains, by --loss-params.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "passes/Options.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc {

using StateSet = llvm::DenseSet<mlir::Operation *>;

/// For each of `losses` the trainable states that rows REGEX:LOSS assign to it,
/// or all if it has no row. Fails, with an error at the module, on a malformed
/// row or one that matches no trainable state.
llvm::FailureOr<std::vector<StateSet>>
trainedStates(mlir::ModuleOp module, const std::vector<std::string> &losses,
              const std::vector<std::string> &rows);

/// The names of the losses of --loss, if it is a list; else empty.
std::vector<std::string> namesOfLosses(const LossOptions &options);

/// Whether the option's rows fit the module; else an error at the module.
llvm::LogicalResult checkLossParams(mlir::ModuleOp module,
                                    const LossOptions &options);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Which parameters each of several losses trains, as --loss-params says.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "passes/Options.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc {

using StateSet = llvm::DenseSet<mlir::Operation *>;

/// For each of `losses` the trainable states that rows REGEX:LOSS give it, or
/// all if none does. Fails, with an error at the module, on a row that is none
/// or matches no trainable state.
llvm::FailureOr<std::vector<StateSet>>
trainedStates(mlir::ModuleOp module, const std::vector<std::string> &losses,
              const std::vector<std::string> &rows);

/// Those of --loss, if it is a list; else none.
std::vector<std::string> namesOfLosses(const LossOptions &options);

/// Whether the rows of the options fit the module; else an error at it.
llvm::LogicalResult checkLossParams(mlir::ModuleOp module,
                                    const LossOptions &options);

} // namespace dlc

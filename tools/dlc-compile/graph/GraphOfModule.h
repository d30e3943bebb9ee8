// SPDX-License-Identifier: Apache-2.0
// Converts a module between two phases to nodes and edges.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"
#include "runtime/plan/graph/ProgramGraph.h"

namespace dlc {

/// The graph of a function of the module, by default "train_step", else
/// "predict". Reads and writes of states are nodes, constants are not.
/// Code::Usage, with the existing functions, for an unknown one, and for a
/// module of commands.
Result<plan::ProgramGraph> graphOf(mlir::ModuleOp module,
                                   const std::string &function);

/// The program of a plan, selected in the same way.
Result<const plan::Program *> chooseProgram(const plan::Plan &plan,
                                            const std::string &name);

} // namespace dlc

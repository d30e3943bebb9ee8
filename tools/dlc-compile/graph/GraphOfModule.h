// SPDX-License-Identifier: Apache-2.0
// A module between two phases as nodes and edges.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"
#include "runtime/plan/graph/ProgramGraph.h"

namespace dlc {

/// Of a function of the module, "train_step"; empty: that, else "predict".
/// Reads and writes of states are nodes; constants are none. Code::Usage, with
/// those that there are, for an unknown one, and for a module of commands.
Result<plan::ProgramGraph> graphOf(mlir::ModuleOp module,
                                   const std::string &function);

/// The program of a plan, in the same way.
Result<const plan::Program *> chooseProgram(const plan::Plan &plan,
                                            const std::string &name);

} // namespace dlc

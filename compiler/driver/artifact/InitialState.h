// SPDX-License-Identifier: Apache-2.0
// Writes state.safetensors of an artifact: the initial value of every state.
#pragma once

#include "compiler/import/tensor/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"

namespace dlc {

/// Writes the initial value of each exec.state of `module`: the weight that its
/// `init` names, rounded if the state has a smaller float type; a number for
/// all elements; random numbers of a kind (Initialize.h) and seed; or the
/// initial value of another state. Moments that are zero are omitted.
Status writeInitialState(mlir::ModuleOp module,
                         const import::WeightStore &weights,
                         const std::string &path);

} // namespace dlc

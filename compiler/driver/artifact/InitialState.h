// SPDX-License-Identifier: Apache-2.0
// state.safetensors of an artifact: every state's first value.
#pragma once

#include "compiler/import/tensor/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"

namespace dlc {

/// Writes the initial value of each exec.state of `module`: the weight that its
/// `init` names, rounded if the state is of a smaller float type, that number
/// in every element, random numbers of a kind (InitKinds.h) and seed, or the
/// first value of the state that it refers to. Zero moments are left out.
Status writeInitialState(mlir::ModuleOp module,
                         const import::WeightStore &weights,
                         const std::string &path);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// What tells clusters that differ in the shape of their tensors alone.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// What a cluster computes, whatever the shape of its tensors; empty when it is
/// not purely elementwise on scalars and tensors of one shape.
std::string shapelessForm(mlir::Block &body);

} // namespace dlc

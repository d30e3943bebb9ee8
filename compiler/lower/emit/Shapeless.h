// SPDX-License-Identifier: Apache-2.0
// Identifies clusters that differ only in the shapes of their tensors.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// A text for what a cluster computes that does not depend on the shapes of its
/// tensors; empty unless elementwise on scalars and tensors of one shape.
std::string shapelessForm(mlir::Block &body);

} // namespace dlc

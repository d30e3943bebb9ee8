// SPDX-License-Identifier: Apache-2.0
// Weights that a file stores as a scalar and a shape.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Turns a ConstantOfShape of floats and known shape into an initializer, so
/// that it is trained or updated, if its result is only used as weight or bias
/// of convolutions and products, or as an operand of batch norm. Errors
/// (Code::BadModel) are those of the budget.
Status fillWeights(OnnxFile &file);

} // namespace dlc::import

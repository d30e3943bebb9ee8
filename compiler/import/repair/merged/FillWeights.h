// SPDX-License-Identifier: Apache-2.0
// Weights that the model's file has as a number and a shape.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// A ConstantOfShape of floats and a known shape whose result is nothing but
/// the weight or bias of convolutions and products, or what a batch norm has,
/// becomes an initializer, so that it trains or moves as others do. The errors
/// (BadModel) are those of the budget.
Status fillWeights(OnnxFile &file);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// --qat: what a quantized file holds as integers is trained as floats.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// How many tensors are trained.
struct QuantizedParts {
  int weights = 0, biases = 0, scales = 0;
};

/// Each 8-bit initializer that a DequantizeLinear reads becomes floats, the
/// numbers that it stood for, and a QuantizeLinear before that node; a 32-bit
/// one, a bias, floats alone. They get the integer's name without "_quantized".
/// Scales that are initializers are trained; an ai.dlc.LearnedScale between
/// each and its readers makes their gradients LSQ's. Zero points stay. Fails
/// (Usage) for a file without such nodes, and (BadModel) for other types and
/// for scales of blocks, by the node's name.
Result<QuantizedParts> trainQuantized(OnnxFile &file);

/// What to say of a quantized file that is trained without --qat; else "".
std::string quantizedWeights(const OnnxFile &file);

} // namespace dlc::import

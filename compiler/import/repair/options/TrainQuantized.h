// SPDX-License-Identifier: Apache-2.0
// --qat: trains the integers of a quantized file as floats.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Numbers of trained tensors.
struct QuantizedParts {
  int weights = 0, biases = 0, scales = 0;
};

/// Replaces each 8-bit initializer that a DequantizeLinear reads by its values
/// as floats, followed by a QuantizeLinear; a 32-bit one, which is a bias, only
/// by floats. Their names lose the suffix "_quantized". Scales in initializers
/// are trained, with LSQ's gradients from an ai.dlc.LearnedScale before their
/// readers; zero points are constant. Code::Usage for a file without such
/// nodes; Code::BadModel, naming the node, for other types and for blockwise
/// scales.
Result<QuantizedParts> trainQuantized(OnnxFile &file);

/// Warns about a quantized file that is trained without --qat; else "".
std::string quantizedWeights(const OnnxFile &file);

} // namespace dlc::import

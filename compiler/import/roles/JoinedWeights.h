// SPDX-License-Identifier: Apache-2.0
// Weights that a file concatenates before a layer reads them, such as the gates
// of a recurrent layer.
#pragma once
#include "compiler/import/roles/Branches.h"

namespace dlc::import {

/// Whether `node` is a Concat whose inputs are all weights, or slices,
/// transposes or concatenations of weights; false if that takes too many steps
/// to find out. Takes constant time.
bool joinsWeights(const onnx::NodeProto &node, const OnnxFile &file,
                  const ValueFlow &flow);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Weights that a file joins before a layer reads them, as the gates of a
// recurrent layer.
#pragma once
#include "compiler/import/roles/Branches.h"

namespace dlc::import {

/// Whether `node` is a Concat of weights alone, or of what is cut of them,
/// turned or joined; false where that takes long to say. Takes constant time.
bool joinsWeights(const onnx::NodeProto &node, const OnnxFile &file,
                  const ValueFlow &flow);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Weights that a file stores in Constant nodes and in subgraphs.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Turns into initializers of the main graph:
/// - Constants of f32, f16, bf16 or f64 that findRoles would train as
///   initializers, or that are running statistics; the name is the output's;
/// - initializers of these types in subgraphs, trained or not; a name that is
///   not unique gets the node's name as prefix (separateNames).
/// Other Constants remain nodes: scalars, values that no layer reads as its
/// weight, a few values that a Gather selects from, narrow types, ones and
/// zeros of decomposed group norms; and all Constants of torch's exporters, if
/// the file has a trained initializer, as these store parameters so. Call this
/// before tensors are restored. Linear in the size of the file. A Constant that
/// cannot be read remains; the only error is Code::BadModel, over budget.
Status takeConstants(OnnxFile &file);

} // namespace dlc::import

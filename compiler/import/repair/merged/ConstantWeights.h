// SPDX-License-Identifier: Apache-2.0
// Weights that a file stores in Constant nodes and in subgraphs.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Turns Constants of f32, f16, bf16 or f64 that would be trained or be running
/// statistics as initializers (findRoles) into initializers of the main graph,
/// named after the node's output; also initializers of these types in
/// subgraphs, trained or not, with the node's name as prefix if the name is not
/// unique (separateNames). Other Constants stay nodes: scalars, values that no
/// layer reads as its weight, a few values that a Gather selects from, narrow
/// types, ones and zeros of decomposed group norms; in files of torch's
/// exporters, which store parameters as initializers, all Constants if an
/// initializer is trained. Must be called before tensors are restored. Linear
/// in the size of the file. Constants that cannot be read stay; the only error
/// is Code::BadModel if the budget is exhausted.
Status takeConstants(OnnxFile &file);

} // namespace dlc::import

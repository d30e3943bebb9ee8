// SPDX-License-Identifier: Apache-2.0
// Finds types and shapes of a model's tensors, as far as dlc can import it.
#pragma once

#include "compiler/import/reduce/ModelParts.h"
#include <cstdint>

namespace dlc::import {

/// Sets the types of node results (ModelParts::setType) by importing the model;
/// if that fails, its halves with their dependencies, down to single nodes.
/// Sizes that depend on the batch are NAME or NUMBER*NAME, with the name of the
/// inputs' first dimension; `dims` binds other symbolic ones. Tensors that
/// cannot be imported keep the type that the file declares.
Status learnTypes(ModelParts &parts,
                  const std::map<std::string, int64_t> &dims);

} // namespace dlc::import

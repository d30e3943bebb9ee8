// SPDX-License-Identifier: Apache-2.0
// Types and shapes of a model's tensors, as far as dlc can import it.
#pragma once

#include "compiler/import/reduce/ModelParts.h"
#include <cstdint>

namespace dlc::import {

/// Sets the types of what nodes make (ModelParts::setType) by importing the
/// model, or, where that is refused, its halves, each with what it depends on,
/// down to single nodes. Sizes that follow from the batch are NAME or
/// NUMBER*NAME, by the name of the inputs' first dimension; `dims` binds other
/// symbolic ones. What cannot be imported keeps the type that the file
/// declares.
Status learnTypes(ModelParts &parts,
                  const std::map<std::string, int64_t> &dims);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Slices of one parameter that an exporter folded into separate tensors.
#pragma once
#include "compiler/import/repair/torch/Restoring.h"

namespace dlc::import {

struct Pieces {
  /// Tensors whose parameter has several such tensors in the file.
  std::set<std::string> several;
  /// Tensor -> a tensor that shares elements with it: another slice, or the
  /// parameter if the file has that too. Both must be trained together.
  std::map<std::string, std::string> overlapping;
};

/// Finds initializers that FoldedSources describes as moved elements of one
/// parameter, as nodes read them now. Elements are compared by their bits;
/// numbers with few digits, and duplicates within a tensor, are not evidence.
/// Linear in the bytes compared, which are charged to the budget.
Pieces findPieces(Restoring &work);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Slices of one parameter that an exporter folded, each a tensor of the file.
#pragma once
#include "compiler/import/repair/torch/Restoring.h"

namespace dlc::import {

struct Pieces {
  /// Those of which the file has several of one parameter.
  std::set<std::string> several;
  /// Those that have elements in common with another one, or with their
  /// parameter that the file has as well, and that one's name: what trains one
  /// must train the other.
  std::map<std::string, std::string> overlapping;
};

/// The initializers that the file says to be moved elements of one parameter
/// each (FoldedSources), as nodes read them now. Elements are known by their
/// bits: numbers of few digits, and those that a tensor holds twice, tell
/// nothing. Linear in the bytes of what is compared, which the budget is
/// charged for.
Pieces findPieces(Restoring &work);

} // namespace dlc::import

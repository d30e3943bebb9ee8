// SPDX-License-Identifier: Apache-2.0
// Layers among the parameters that no node of a file reads.
#pragma once
#include <set>
#include <string>

namespace dlc::import {

/// Removes from `names` the weight and bias of modules that have both, except
/// modules in `scopes`. Such a layer was applied to a constant and folded, or a
/// norm was folded into its neighbour; neither case is a parameter that was
/// moved or repeated. Returns the parameters of modules without running
/// statistics in `buffers`.
std::set<std::string> takeLayers(std::set<std::string> &names,
                                 const std::set<std::string> &scopes,
                                 const std::set<std::string> &buffers);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Layers among the parameters that no node of a file reads.
#pragma once
#include <set>
#include <string>

namespace dlc::import {

/// Takes out of `names` both parameters of modules of which a weight and a bias
/// are there, but of those that `scopes` are in: a layer was applied to
/// something known, and what it gave is in the file, or a norm was folded into
/// its neighbour. Neither is a parameter that was moved or repeated. Returns
/// those of layers that have no running statistics in `buffers`.
std::set<std::string> takeLayers(std::set<std::string> &names,
                                 const std::set<std::string> &scopes,
                                 const std::set<std::string> &buffers);

} // namespace dlc::import

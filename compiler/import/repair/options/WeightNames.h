// SPDX-License-Identifier: Apache-2.0
// Matches names of the same weights in two files.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace dlc::import {

/// Adds a prefix ("module.", "model.") to the names of `given`, or removes one,
/// if that makes more of them equal to names of `wanted`, and no other prefix
/// matches as many. Returns a message about the change, or "". Linear in the
/// total length of the names.
std::string alignPrefix(const std::set<std::string> &wanted,
                        std::map<std::string, Weight> &given);

/// Removes the suffix `end`, if present: "bn1.weight" without ".weight".
std::string withoutEnd(const std::string &name, std::string_view end);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Names of the same weights in two files.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace dlc::import {

/// Where `given` has the names of `wanted` with a prefix of modules more
/// ("module.", "model.") or less, takes it away from them or puts it there, if
/// one prefix alone makes the most names agree, more than do as they are.
/// Returns what was done, for a message; "" if nothing was. Linear in the
/// lengths of all names.
std::string alignPrefix(const std::set<std::string> &wanted,
                        std::map<std::string, Weight> &given);

/// "bn1.weight" without ".weight"; as it is where it does not end so.
std::string withoutEnd(const std::string &name, std::string_view end);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// Dimensions that are written as expressions of others, as torch's exporters
// do: "2*time", "floor(time/2 - 1/2) + 1", "Max(1, s0//2)".
#pragma once

#include "runtime/base/Status.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlc::import {

/// The names that occur in it, each once, in their order; none if it is a name
/// itself, a number, or nothing that can be read: then the text is a name as a
/// whole. Untrusted: any text.
std::vector<std::string> namesInDimension(const std::string &text);

/// Exact: of fractions, rounded only where it says so. Operators + - * / // %
/// and **; floor, ceil(ing), Max, Min, Mod, PythonMod, FloorDiv, CleanDiv,
/// CeilDiv. `valueOf` gives a name's value. An error says what it came to: no
/// whole number, below 1, or beyond 2^53 on the way.
Result<int64_t> dimensionOf(
    const std::string &text,
    const std::function<std::optional<int64_t>(const std::string &)> &valueOf);

} // namespace dlc::import

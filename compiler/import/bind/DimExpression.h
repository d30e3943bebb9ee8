// SPDX-License-Identifier: Apache-2.0
// Dimensions that torch's exporters write as expressions of other dimensions:
// "2*time", "floor(time/2 - 1/2) + 1", "Max(1, s0//2)".
#pragma once

#include "runtime/base/Status.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlc::import {

/// The distinct names in the expression, in order of appearance. Empty if the
/// text is a single name, a number or not an expression; it is then a name as a
/// whole. `text` is untrusted.
std::vector<std::string> namesInDimension(const std::string &text);

/// Evaluates the expression in exact fractions, which only the rounding
/// functions round. Operators: + - * / // % **; functions: floor, ceil(ing),
/// Max, Min, Mod, PythonMod, FloorDiv, CleanDiv, CeilDiv. `valueOf` returns a
/// name's value. Errors: a result that is not an integer or below 1, or an
/// intermediate value above 2^53.
Result<int64_t> dimensionOf(
    const std::string &text,
    const std::function<std::optional<int64_t>(const std::string &)> &valueOf);

} // namespace dlc::import

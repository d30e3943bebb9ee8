// SPDX-License-Identifier: Apache-2.0
// Draws the table of dlc plan.
#pragma once

#include "runtime/base/Json.h"

#include <string>

namespace dlc::tool {

// An SVG of efficiency over ranks (logarithmic axis), with a line for each
// "mode" of `rows`, whose "ranks" and "efficiency" are numbers.
std::string efficiencyPicture(const nlohmann::ordered_json &rows);

} // namespace dlc::tool

// SPDX-License-Identifier: Apache-2.0
// The table of dlc plan as a picture.
#pragma once

#include "runtime/base/Json.h"

#include <string>

namespace dlc::tool {

// An SVG of efficiency against ranks (a logarithmic axis), a line for each
// "mode" of `rows`, whose "ranks" and "efficiency" are numbers.
std::string efficiencyPicture(const nlohmann::ordered_json &rows);

} // namespace dlc::tool

// SPDX-License-Identifier: Apache-2.0
// The page that dlc report and dlc graph write: text around its data.
#pragma once

#include "runtime/base/Json.h"

#include <string>

namespace dlc::tool {

// The whole page. Of each of data["runs"] sections whose keys are missing are
// left out.
std::string reportPage(const Json &data);

} // namespace dlc::tool

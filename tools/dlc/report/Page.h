// SPDX-License-Identifier: Apache-2.0
// The HTML page that dlc report and dlc graph write.
#pragma once

#include "runtime/base/Json.h"

#include <string>

namespace dlc::tool {

// The complete page. For each of data["runs"], sections without data are
// omitted.
std::string reportPage(const Json &data);

} // namespace dlc::tool

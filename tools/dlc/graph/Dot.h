// SPDX-License-Identifier: Apache-2.0
// A drawing in Graphviz's language.
#pragma once

#include "tools/dlc/graph/Drawing.h"

namespace dlc::tool {

enum class GraphColour { Precision, Placement };

// `title` stands above it; names from files are text alone in it.
std::string dotOf(const Drawing &drawing, GraphColour colour,
                  const std::string &title);

} // namespace dlc::tool

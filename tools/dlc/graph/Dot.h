// SPDX-License-Identifier: Apache-2.0
// Writes a drawing in Graphviz's language.
#pragma once

#include "tools/dlc/graph/Drawing.h"

namespace dlc::tool {

enum class GraphColour { Precision, Placement };

// `title` is the heading. Names from files are escaped.
std::string dotOf(const Drawing &drawing, GraphColour colour,
                  const std::string &title);

} // namespace dlc::tool

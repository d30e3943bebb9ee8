// SPDX-License-Identifier: Apache-2.0
// Graphviz's pictures of a program.
#pragma once

#include "runtime/base/Json.h"
#include "tools/dlc/graph/Dot.h"

namespace dlc::tool {

// As the page takes them: {"drawings": [{"depth", "svg"}], "said"}, at each
// depth that kMostRanks allow, the most closed first, or at `depth` alone,
// until kMostSeconds have passed; "said" is why some are not there, with the
// way out. Code::Failed if Graphviz fails; where it is not installed nothing is
// drawn.
Result<Json> render(const plan::ProgramGraph &graph, GraphColour colour,
                    const std::string &title,
                    std::optional<int64_t> depth = {});

constexpr int kMostSeconds = 10;

} // namespace dlc::tool

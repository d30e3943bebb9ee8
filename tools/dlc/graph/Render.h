// SPDX-License-Identifier: Apache-2.0
// Renders a program with Graphviz.
#pragma once

#include "runtime/base/Json.h"
#include "tools/dlc/graph/Dot.h"

namespace dlc::tool {

// Returns {"drawings": [{"depth", "svg"}], "said"} for the page: a drawing for
// each depth within kMostRanks, the smallest first, or only for `depth`, until
// kMostSeconds have passed; "said" says why drawings are missing, with a
// remedy. Code::Failed if Graphviz fails; no drawings if it is not installed.
Result<Json> render(const plan::ProgramGraph &graph, GraphColour colour,
                    const std::string &title,
                    std::optional<int64_t> depth = {});

constexpr int kMostSeconds = 10;

} // namespace dlc::tool

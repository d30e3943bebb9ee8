// SPDX-License-Identifier: Apache-2.0
// A program's graph as the page of dlc report takes it.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/plan/graph/ProgramGraph.h"

namespace dlc::tool {

// {"nodes": [{"name", "kind", "type", "shape", "library"}], "edges": [[from,
// to]]}; only the first kMostGraphNodes.
Json graphJson(const plan::ProgramGraph &graph);

constexpr int kMostGraphNodes = 3000; // that a browser draws

} // namespace dlc::tool

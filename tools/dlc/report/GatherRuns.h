// SPDX-License-Identifier: Apache-2.0
// Collects the report of a run, as JSON.
#pragma once

#include "runtime/base/Json.h"

#include <set>
#include <string>

namespace dlc::tool {

// Reads a run folder, even of a run that has just begun: {"name", "done",
// "model", "config", "steps", "epochs", "best", "seconds", "confusion",
// "stats", "ranks", "profile", "tuning", "memory", "graph"}. Damaged or missing
// lines and files are omitted, but a damaged artifact is Code::Corrupt. Long
// curves are reduced to kMostPoints. `drawn` are programs whose graphs other
// runs have included: their "graph" is null.
Result<Json> gatherRun(const std::string &run, std::set<std::string> &drawn);

constexpr size_t kMostPoints = 2000;

} // namespace dlc::tool

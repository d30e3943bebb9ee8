// SPDX-License-Identifier: Apache-2.0
// What the report says of a run, as JSON.
#pragma once

#include "runtime/base/Json.h"

#include <set>
#include <string>

namespace dlc::tool {

// Of a run folder, also of one that has begun just now: {"name", "done",
// "model", "config", "steps", "epochs", "best", "seconds", "confusion",
// "stats", "ranks", "profile", "tuning", "memory", "graph"}. Lines and files
// that are damaged or not there are left out, but not the artifact:
// Code::Corrupt. Long curves are thinned to kMostPoints. `drawn` are the
// programs whose graph another run has shown: that of such a one is null.
Result<Json> gatherRun(const std::string &run, std::set<std::string> &drawn);

constexpr size_t kMostPoints = 2000;

} // namespace dlc::tool

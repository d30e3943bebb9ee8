// SPDX-License-Identifier: Apache-2.0
// Collects the report of a run, and its predictions for images, as JSON.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

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

// Predicts the images at `data`, prepared as in the run's evaluation. Returns
// {"samples", "wrong", "shown"}; shown has at most `count` of [{"picture": a
// data URL of its PNG, "name", "class", "probability", "label"}]: first those
// with a wrong class, the most confident first, then the correct ones, the
// least confident first. Without labels, "wrong" and "label" are null, and the
// least confident come first. Code::Usage for samples that are not images, or a
// model without classes.
Result<Json> predictionsOf(const std::string &run, const std::string &data,
                           int64_t count);

} // namespace dlc::tool

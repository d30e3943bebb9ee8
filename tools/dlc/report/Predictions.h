// SPDX-License-Identifier: Apache-2.0
// A run's predictions for images, for the report.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <string>

namespace dlc::tool {

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

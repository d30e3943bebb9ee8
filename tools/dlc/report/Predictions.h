// SPDX-License-Identifier: Apache-2.0
// What a run's model says of pictures, for the report.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <string>

namespace dlc::tool {

// Of the pictures at `data`, prepared as in the run's evaluation: {"samples",
// "wrong", "shown"}, where shown has at most `count` of [{"picture": an address
// of its PNG, "name", "class", "probability", "label"}], those first of whose
// class the model is wrong, the surest first, then the right ones, the least
// sure first. Without labels, "wrong" and "label" are null and the least sure
// come first. Code::Usage: samples that are no pictures, or a model without
// classes.
Result<Json> predictionsOf(const std::string &run, const std::string &data,
                           int64_t count);

} // namespace dlc::tool

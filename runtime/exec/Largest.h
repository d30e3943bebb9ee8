// SPDX-License-Identifier: Apache-2.0
// What takes the memory of a plan.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

// `error`, and if memory is short the ten largest tensors of the plan: states
// by name, other buffers by the command that writes them first.
Status withLargestTensors(const Status &error, const plan::Plan &plan);

} // namespace dlc

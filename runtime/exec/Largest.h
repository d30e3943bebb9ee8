// SPDX-License-Identifier: Apache-2.0
// Reports which tensors of a plan use the most memory.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

// `error`; if memory is short, followed by the ten largest tensors of the plan:
// states by name, other buffers by the command that writes them first.
Status withLargestTensors(const Status &error, const plan::Plan &plan);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// What is asked of the commands and tensors of a program.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>

namespace dlc::plan {

// "tanh" of a generated kernel with the symbol "k3_tanh_flat", else the kind.
std::string operationOf(const Command &command);

// The command that computes the output "loss"; what follows it is the backward
// pass and the update. A program without one has none behind it: INT32_MAX.
int findLossCommand(const Program &program);

// f64, f32 or a half.
bool isFloating(const TensorType &type);

} // namespace dlc::plan

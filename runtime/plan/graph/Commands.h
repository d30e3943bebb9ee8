// SPDX-License-Identifier: Apache-2.0
// Queries on the commands and tensors of a program.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>

namespace dlc::plan {

// "tanh" of a generated kernel with the symbol "k3_tanh_flat", else the kind.
std::string operationOf(const Command &command);

// The command that computes the output "loss"; later commands are the backward
// pass and the update. INT32_MAX if there is no such output.
int findLossCommand(const Program &program);

// Whether it is f64, f32, f16 or bf16.
bool isFloating(const TensorType &type);

} // namespace dlc::plan

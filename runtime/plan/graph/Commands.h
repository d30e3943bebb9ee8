// What a command of a program is to people, and which computes the loss.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>

namespace dlc::plan {

// "tanh" of a generated kernel with the symbol "k3_tanh_flat", else the kind.
std::string operationOf(const Command &command);

// The command that computes the output "loss"; what follows it is the backward
// pass and the update. A program without one has none behind it: INT32_MAX.
int findLossCommand(const Program &program);

} // namespace dlc::plan

// SPDX-License-Identifier: Apache-2.0
// What each kernel and library call of an artifact costs.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/plan/Artifact.h"

namespace dlc::tool {

// By program, the commands that have the same name together: calls, bytes and
// FLOPs of all of them, and the time predicted for an H100 and an H200 in
// microseconds: the longer of the bytes at 85 % of the memory's bandwidth and
// the FLOPs at 70 % of the peak (of tensor cores in half precision, of which
// generated kernels get 25 %). Of
// generated kernels for a GPU also the launch and, of the newest SM, registers;
// of a CPU's commands the time at this machine's roofline ("cpu_us"), if dlc
// bench machine has measured it. The costliest come first.
nlohmann::ordered_json commandCosts(const Artifact &artifact);

void printCosts(const nlohmann::ordered_json &costs);

} // namespace dlc::tool

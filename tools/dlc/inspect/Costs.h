// SPDX-License-Identifier: Apache-2.0
// Costs of each kernel and library call of an artifact.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/plan/Artifact.h"

namespace dlc::tool {

// For each program, commands grouped by name, the most expensive first: calls,
// total bytes and FLOPs, and the time in microseconds predicted for an H100 and
// an H200, which is the longer of the bytes at 85 % of the memory bandwidth and
// the FLOPs at 70 % of the peak (of tensor cores in half precision, 25 % for
// generated kernels). For generated GPU kernels also the launch configuration
// and, for the newest SM, registers; for commands of a CPU the time at this
// machine's roofline ("cpu_us"), if dlc doctor bench has measured it.
nlohmann::ordered_json commandCosts(const Artifact &artifact);

void printCosts(const nlohmann::ordered_json &costs);

} // namespace dlc::tool

// SPDX-License-Identifier: Apache-2.0
// The sizes that a model was compiled for: each has its own programs, and all
// share one state.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>
#include <string_view>

namespace dlc::plan {

// At least one.
int countSizes(const Plan &plan);
int64_t batchOf(const Plan &plan, int size);
inline int64_t batchOf(const Plan &plan, const Program &program) {
  return batchOf(plan, static_cast<int>(program.size()));
}

// "batch=8,time=128"
std::string nameOf(const Size &size);
// All sizes: "batch=32,time=128; batch=8,time=128".
std::string sizesText(const Plan &plan);

// Whether both have equal samples: only the batch may differ.
bool haveSameSamples(const Plan &plan, int size, int other);

// The name of a program of this kind for this size: the first size has plain
// names, "train_step"; others are "train_step@batch=8,time=128".
std::string programName(std::string_view kind, const Size &size, int number);
std::string_view kindOf(const Program &program);

// Null if the plan has no such program.
const Program *findProgram(const Plan &plan, std::string_view kind, int size);

} // namespace dlc::plan

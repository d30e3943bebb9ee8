// What a data set fills and predictions are written from.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <string_view>

namespace dlc::plan {

// Null if the plan has no such program.
const Program *findProgram(const Plan &plan, std::string_view name);

// Labels are the inputs that predict does not take.
bool isLabel(const Plan &plan, std::string_view input);

// Every input has a row for each sample of a batch, labels one or more. The
// program must be the plan's. Code::Corrupt, naming the input.
Status checkInputs(const Plan &plan, const Program &program);

// Of predict's outputs: a number for the whole batch, such as a loss that the
// model computes, is no prediction.
bool isPrediction(const Program &program, const Port &output);

// There are predictions, and each has rows for each sample. Code::Corrupt,
// naming the output.
Status checkPredictions(const Plan &plan, const Program &predict);

// All of this for every program, and that there are inputs besides the labels:
// train, eval and predict can run. Code::Corrupt.
Status checkPorts(const Plan &plan);

} // namespace dlc::plan

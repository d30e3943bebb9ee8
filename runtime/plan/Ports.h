// SPDX-License-Identifier: Apache-2.0
// What a data set fills and predictions are written from.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/Sizes.h"

#include <string_view>

namespace dlc::plan {

// Of the first size. Null if the plan has no such program.
const Program *findProgram(const Plan &plan, std::string_view kind);

// Labels are the inputs that predict does not take.
bool isLabel(const Plan &plan, std::string_view input);

// The training programs' input that says how much each sample counts, if they
// were compiled with --last-batch=pad: 0 for those that fill up an update, the
// others as many times as makes the mean over all of it theirs. No data file
// has it.
constexpr std::string_view kSampleWeight = "dlc.sample_weight";
// Whether what fills no update at the end of an epoch makes one.
bool padsLast(const Plan &plan);

// One text at a time, for dlc generate: all its tokens, or one more of it at
// the place that the decoding program's further input says.
constexpr std::string_view kPrefill = "prefill", kDecode = "decode",
                           kPosition = "dlc.position";

// An input without a row for each sample: all samples have the same.
bool isShared(const Plan &plan, const Program &program, const Port &input);

// Every input has a row for each sample of a batch, labels one or more, or is
// shared. The program must be the plan's. Code::Corrupt, naming the input.
Status checkInputs(const Plan &plan, const Program &program);

// Of predict's outputs: it has rows for each sample. Others, such as a loss
// that the model computes, are of a batch as a whole.
bool isPrediction(const Plan &plan, const Program &program, const Port &output);

// All of this for every program, and that there are inputs besides the labels:
// train, eval and predict can run. Code::Corrupt.
Status checkPorts(const Plan &plan);

} // namespace dlc::plan

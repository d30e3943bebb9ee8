// SPDX-License-Identifier: Apache-2.0
// The ports of programs that data sets fill and predictions read.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/Sizes.h"

#include <string_view>
#include <vector>

namespace dlc::plan {

// For the first size. Null if the plan has no such program.
const Program *findProgram(const Plan &plan, std::string_view kind);

// Labels are the inputs that predict does not take.
bool isLabel(const Plan &plan, std::string_view input);

// The training programs' input of sample weights, if they were compiled with
// --last-batch=pad: 0 for padding, and for the others the factor that makes the
// loss their mean. No data file contains it.
constexpr std::string_view kSampleWeight = "dlc.sample_weight";
// Whether the samples that do not fill the last update of an epoch are padded.
bool padsLast(const Plan &plan);

// One text at a time, for dlc generate: all its tokens, or one more token at
// the position in the decoding program's further input.
constexpr std::string_view kPrefill = "prefill", kDecode = "decode",
                           kPosition = "dlc.position";
// The program in which ranks that step by themselves meet, and how many steps
// there are in between, --sync-every; 0: they do not, or the plan does not say.
constexpr std::string_view kSync = "sync_step";
int64_t syncEvery(const Plan &plan);

// The shape of a batch of the input's samples. It is the input's own, behind a
// dimension of 1 where samples are whole inputs: the batch is 1, and none of
// the model's inputs has one row, as of a graph's atoms and bonds.
std::vector<int64_t> batchShape(const Plan &plan, const Program &program,
                                const Port &input);

// An input without a row per sample, shared by all samples.
bool isShared(const Plan &plan, const Program &program, const Port &input);

// Every input has one row per sample of a batch (labels one or more), or is
// shared. The program must be the plan's. Code::Corrupt, naming the input.
Status checkInputs(const Plan &plan, const Program &program);

// For predict's outputs: whether it has rows per sample. Others, such as a loss
// that the model computes, belong to the whole batch.
bool isPrediction(const Plan &plan, const Program &program, const Port &output);

// Checks this for every program, and that there are inputs besides the labels:
// train, eval and predict can run. Code::Corrupt.
Status checkPorts(const Plan &plan);

} // namespace dlc::plan

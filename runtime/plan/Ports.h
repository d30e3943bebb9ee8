// SPDX-License-Identifier: Apache-2.0
// The inputs that data sets fill and the outputs that predictions read.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/Sizes.h"

#include <string_view>
#include <vector>

namespace dlc::plan {

// The program of this kind for the first size. Null if the plan has none.
const Program *findProgram(const Plan &plan, std::string_view kind);

// Labels are the inputs that predict does not take.
bool isLabel(const Plan &plan, std::string_view input);

// The input for sample weights of training programs compiled with
// --last-batch=pad: 0 for padding, and for other samples the factor that makes
// the loss their mean. Data files do not contain it.
constexpr std::string_view kSampleWeight = "dlc.sample_weight";
// Whether samples that do not fill the last update of an epoch are padded.
bool padsLast(const Plan &plan);

// Programs for a single sequence, for dlc generate: kPrefill for all its
// tokens, kDecode for one more token, at the position in its input kPosition.
constexpr std::string_view kPrefill = "prefill", kDecode = "decode",
                           kPosition = "dlc.position";
// Programs for a training update: `start_step`, if present, does the first
// Program::updates updates, `train_step` the others.
constexpr std::string_view kTrain = "train_step", kStart = "start_step";
// The kind of the program that does the update after `updates` updates.
std::string_view updateAfter(const Plan &plan, int64_t updates);
// Whether the host runs `follower` after each run of the program.
bool isFollowedBy(const Program &program, const Program &follower);

// The program that synchronises ranks with local steps, and the number of steps
// between its runs, --sync-every; 0: no local steps, or unknown.
constexpr std::string_view kSync = "sync_step";
int64_t syncEvery(const Plan &plan);

// The shape of a batch of the input's samples: the input's own shape, with a
// leading dimension of 1 if each sample is a whole input. That is so if the
// batch is 1 and no input of the model has a single row, as for the atoms and
// bonds of a graph.
std::vector<int64_t> batchShape(const Plan &plan, const Program &program,
                                const Port &input);

// Whether the input has no row per sample and is shared by all samples.
bool isShared(const Plan &plan, const Program &program, const Port &input);

// Checks that each input has one row per sample of a batch (labels: one or
// more), or is shared. The program must belong to the plan. Code::Corrupt,
// naming the input.
Status checkInputs(const Plan &plan, const Program &program);

// Whether an output of predict has rows per sample. Other outputs, such as a
// loss that the model computes, belong to the whole batch.
bool isPrediction(const Plan &plan, const Program &program, const Port &output);

// Checks the inputs of every program, and that the model has inputs besides
// labels, so that train, eval and predict can run. Code::Corrupt.
Status checkPorts(const Plan &plan);

} // namespace dlc::plan

// SPDX-License-Identifier: Apache-2.0
// What commands have that use a trained model on samples.
#pragma once

#include "tools/dlc/OptionFlags.h"

#include "runtime/train/metrics/Judge.h"
#include "runtime/train/session/Inputs.h"

namespace dlc::tool {

// How samples are made: as the run was trained, but for the options of `table`
// that were given.
Result<SampleOptions> sampleOptions(const Model &model,
                                    const OptionTable &table,
                                    const OptionTable::Given &given);

// The flags, rows "eval.NAME"; lives as long as the command line.
struct SampleArguments {
  SampleArguments();

  std::string model, data;
  SampleOptions samples; // as flags say: sampleOptions() says what holds
  std::optional<int64_t> threads;
  int averages = 0;
  OptionTable table;
  OptionFlags flags{table, onlySection("eval")};
};

// The model, ready, and the samples for one of its programs.
struct LoadedSamples {
  std::unique_ptr<Session> session;
  SizedData data;
  Judge::Sources sources;
  SampleOptions options;
};

// Instead of those of --data: opens others, as the options say.
using OpenSources = std::function<Result<Judge::Sources>(
    const Model &model, const SampleOptions &options)>;
Result<LoadedSamples> loadSamples(const SampleArguments &arguments,
                                  const char *program,
                                  const OpenSources &open = {});

} // namespace dlc::tool

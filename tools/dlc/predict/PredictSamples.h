// SPDX-License-Identifier: Apache-2.0
// Shared code of commands that apply a trained model to samples.
#pragma once

#include "tools/dlc/OptionFlags.h"

#include "runtime/train/metrics/Judge.h"
#include "runtime/train/session/Inputs.h"

namespace dlc::tool {

// Sample options of the model's run, overridden by the given options of
// `table`.
Result<SampleOptions> sampleOptions(const Model &model,
                                    const OptionTable &table,
                                    const OptionTable::Given &given);

// Flags, rows "eval.NAME"; must live as long as the command line.
struct SampleArguments : FlagArguments {
  SampleArguments();

  std::string model, data;
  SampleOptions samples; // from flags; sampleOptions() has those to use
  std::optional<int64_t> threads;
  int averages = 0;
};

// A session, and the samples for one of its programs.
struct LoadedSamples {
  std::unique_ptr<Session> session;
  SizedData data;
  Judge::Sources sources;
  SampleOptions options;
};

// Opens other sources than those of --data, according to the options.
using OpenSources = std::function<Result<Judge::Sources>(
    const Model &model, const SampleOptions &options)>;
Result<LoadedSamples> loadSamples(const SampleArguments &arguments,
                                  const char *program,
                                  const OpenSources &open = {});

} // namespace dlc::tool

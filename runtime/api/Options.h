// SPDX-License-Identifier: Apache-2.0
// Options of dlc.h as rows of a table.
#pragma once

#include "runtime/api/Handles.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/collective/launch/Launch.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/session/Session.h"

namespace dlc::api {

// Sets the options by the names of their flags and validates them together.
// Returns the keys that were given; Code::Usage for an unknown name, with the
// nearest known one.
Result<OptionTable::Given> apply(OptionTable &table, const dlc_option *options,
                                 size_t count);

// The same options as dlc_option, valid as long as `kept`.
std::vector<dlc_option> given(const std::vector<KeptOption> &kept);

// Options of samples, overridden by a data set's own options.
Result<SampleOptions> withOptions(SampleOptions samples,
                                  const std::vector<KeptOption> &kept);

// The options of a session and of a trainer, as rows.
struct SessionRows {
  Session::Options options;
  bool noGraph = false;
  OptionTable table;

  SessionRows();
};

// The rows' fields are members of the arguments.
void addTrainerRows(OptionTable &table, TrainOptions &options,
                    LaunchFlags &launch, bool &signals);

} // namespace dlc::api

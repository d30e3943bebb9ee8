// SPDX-License-Identifier: Apache-2.0
// The options of a session and of a trainer, as rows.
#pragma once

#include "runtime/api/Options.h"
#include "runtime/collective/launch/Launch.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/session/Session.h"

namespace dlc::api {

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

// SPDX-License-Identifier: Apache-2.0
// All options of dlc compile.
#pragma once

#include "compiler/driver/Options.h"
#include "tools/dlc-compile/TargetChoice.h"
#include "tools/dlc/OptionFlags.h"

namespace dlc::tool {

struct Settings {
  // Unless `choosesTarget`, --target=auto is not resolved.
  explicit Settings(bool choosesTarget = true) {
    options.addTo(table);
    TargetChoice::addAuto(table, options.train.target);
    if (choosesTarget)
      target.find(table, options.train.target);
  }

  CompileOptions options;
  TargetChoice target;
  OptionTable table;
  OptionFlags flags{table, notSection("run")};
};

} // namespace dlc::tool

// SPDX-License-Identifier: Apache-2.0
// Every setting of dlc compile.
#pragma once

#include "compiler/driver/Options.h"
#include "tools/dlc/OptionFlags.h"

namespace dlc::tool {

struct Settings {
  Settings() { options.addTo(table); }

  CompileOptions options;
  OptionTable table;
  OptionFlags flags{table, notSection("run")};
};

} // namespace dlc::tool

// SPDX-License-Identifier: Apache-2.0
// All options of dlc compile.
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/target/TargetOptions.h"
#include "runtime/plan/plan.pb.h"
#include "tools/dlc/OptionFlags.h"

namespace dlc::tool {

// Resolves --target=auto, the default, on this machine.
class TargetChoice {
public:
  // Adds "auto" to the choices of --target, as the default.
  static void addAuto(OptionTable &table, TargetOptions &target);
  // Makes the table resolve auto after all options are set: to a target that
  // has a device here and can be compiled for, else to cpu. Both arguments must
  // outlive this.
  void find(OptionTable &table, TargetOptions &target);
  // "target cpu (znver3, avx2): ..., as no driver is found; --target=cuda".
  std::string summary(const plan::Plan &plan,
                      const TargetOptions &target) const;

private:
  std::string why_ = "asked for";
};

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

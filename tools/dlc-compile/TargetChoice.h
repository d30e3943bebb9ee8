// SPDX-License-Identifier: Apache-2.0
// Resolves --target=auto, the default, on this machine.
#pragma once

#include "compiler/target/TargetOptions.h"
#include "runtime/plan/plan.pb.h"

namespace dlc::tool {

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

} // namespace dlc::tool

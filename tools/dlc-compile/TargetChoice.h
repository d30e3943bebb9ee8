// SPDX-License-Identifier: Apache-2.0
// What --target=auto, the default, stands for on this machine, and why.
#pragma once

#include "compiler/target/TargetOptions.h"
#include "runtime/plan/plan.pb.h"

namespace dlc::tool {

class TargetChoice {
public:
  // Makes "auto" a word of the row of --target, and its default.
  static void addAuto(OptionTable &table, TargetOptions &target);
  // Has the table find what it is once all options are set: a target whose
  // devices are seen here and can be compiled for, else cpu. Both outlive this.
  void find(OptionTable &table, TargetOptions &target);
  // "target cpu (znver3, avx2): ..., as no driver is found; --target=cuda".
  std::string summary(const plan::Plan &plan,
                      const TargetOptions &target) const;

private:
  std::string why_ = "asked for";
};

} // namespace dlc::tool

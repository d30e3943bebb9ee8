// SPDX-License-Identifier: Apache-2.0
// Generated kernels as dlc-kernel-pack writes them.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"
#include "test/support/Elements.h"
#include "test/support/PlainAttention.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc::test {

// A kernel of attention, which the CPU lacks: judged by plain loops.
struct PackedAttention {
  AttentionShape shape;
  std::vector<std::string> results; // y lse, dq, or dk dv
  bool isBackward() const { return results[0] != "y"; }
};

struct PackedKernel {
  std::string name;
  int64_t grid, block, extent; // extent: items of the CPU's form
  int64_t below;               // what integers of inputs must be
  std::vector<Elements> inputs, outputs;
  std::optional<PackedAttention> attention;
};

Result<std::vector<PackedKernel>> readPack(const std::string &folder);

// A command that launches it.
plan::Command commandOf(const PackedKernel &kernel);

} // namespace dlc::test

// Generated kernels as dlc-kernel-pack writes them.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"
#include "test/support/Elements.h"

#include <string>
#include <vector>

namespace dlc::test {

struct PackedKernel {
  std::string name;
  int64_t grid, block, extent; // extent: items of the CPU's form
  int64_t below;               // what integers of inputs must be
  std::vector<Elements> inputs, outputs;
};

Result<std::vector<PackedKernel>> readPack(const std::string &folder);

// A command that launches it.
plan::Command commandOf(const PackedKernel &kernel);

} // namespace dlc::test

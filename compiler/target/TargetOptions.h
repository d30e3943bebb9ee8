// SPDX-License-Identifier: Apache-2.0
// What is asked of a target.
#pragma once

#include "runtime/base/options/OptionTable.h"

namespace dlc {

struct TargetOptions {
  /// --target: what the step runs on, cpu or cuda.
  std::string name = "cpu";
  /// --cpu=NAME: the CPU that kernels are made for; native is this machine.
  std::string cpu = "native";
  /// --sm=N,N: compute capabilities of the GPUs that kernels are made for.
  Words sm = {"80", "90", "100"};
  /// --cuda-path: folder of the CUDA Toolkit; empty: found.
  std::string toolkit = {};

  void addTo(OptionTable &table);
};

/// The names of all targets.
Words targetNames();

} // namespace dlc

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
  /// --conv-error=fast|direct: on a CPU, what may compute convolutions unasked:
  /// what rounds at most twice as much as the direct form, or about as it does.
  std::string convError = "fast";
  /// --sm=N,N: compute capabilities of the GPUs that kernels are made for.
  Words sm = {"80", "90", "100"};
  /// --cuda-path: folder of the CUDA Toolkit; empty: found.
  std::string toolkit = {};

  void addTo(OptionTable &table);
};

/// The names of all targets.
Words targetNames();

} // namespace dlc

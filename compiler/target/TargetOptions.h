// SPDX-License-Identifier: Apache-2.0
// Options of targets.
#pragma once

#include "runtime/base/options/OptionTable.h"

namespace dlc {

struct TargetOptions {
  /// --target: the device that the step runs on, cpu or cuda.
  std::string name = "cpu";
  /// --cpu=NAME: the CPU that kernels are compiled for; native is this machine.
  std::string cpu = "native";
  /// --conv-error=fast|direct: which convolution algorithms a CPU uses by
  /// default: those with at most twice the rounding error of the direct form,
  /// or only those with about its error.
  std::string convError = "fast";
  /// --sm=N,N: compute capabilities of the GPUs that kernels are compiled for.
  Words sm = {"80", "90", "100"};
  /// --cuda-path: folder of the CUDA Toolkit; empty: searched for.
  std::string toolkit = {};

  void addTo(OptionTable &table);
};

/// The names of all targets.
Words targetNames();

} // namespace dlc

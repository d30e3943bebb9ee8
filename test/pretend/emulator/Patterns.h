// SPDX-License-Identifier: Apache-2.0
// Every fused pattern, in every element type that it has and in awkward shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlc::test {

struct PatternModule {
  std::string name; // "layer-norm-backward"
  std::string text; // MLIR, of exec.kernels
  int64_t kernels;
};

std::vector<PatternModule> patternModules();

/// Those that read and write whole matrices, named "softmax_bf16", at one size:
/// to be timed.
PatternModule matrixModule(int64_t rows, int64_t columns);

} // namespace dlc::test

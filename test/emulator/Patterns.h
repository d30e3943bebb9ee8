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

} // namespace dlc::test

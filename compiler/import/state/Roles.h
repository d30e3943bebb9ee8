// Which initializers are trained.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <map>

namespace dlc::import {

/// Regular expressions (Pattern.h, searched) over initializer names that
/// override the rules. `freeze` wins over `train`.
struct RoleOverrides {
  std::vector<std::string> train, freeze;
};

/// The role of every initializer. Trained: floating point and either an operand
/// of a Conv, Gemm, MatMul, norm or Gather (also through a Transpose, Reshape,
/// Cast ...), or named *.weight or *.bias, or named like module state in a
/// torch export (class_token). Where the exporter recorded parameters and
/// buffers (torch's fx_node metadata), that decides.
Result<std::map<std::string, Role>> findRoles(const OnnxFile &file,
                                              const RoleOverrides &overrides);

} // namespace dlc::import

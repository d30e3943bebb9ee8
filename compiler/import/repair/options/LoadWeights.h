// SPDX-License-Identifier: Apache-2.0
// Weights of another file in place of the model's own.
#pragma once
#include "compiler/import/roles/Roles.h"
#include <set>

namespace dlc::import {

struct WeightsSource {
  std::string path; // *.safetensors or *.onnx
  /// Whether names that are in one of both only, or differ in shape, are left
  /// alone instead of an error.
  bool partial = false;
  /// Names that keep the model's value whatever the file has: a new head.
  std::set<std::string> except;
};

/// Gives each weight and running statistic of `file` the value of the same name
/// in the source; another float type is converted. Returns how many
/// matched; a summary is a remark of the file, with a list of the names missing
/// in the source, unknown to the model and of another shape. Such names are
/// Code::BadModel unless partial; integers of the source (counters) are no
/// weights and ignored.
Result<int> loadWeights(OnnxFile &file, const WeightsSource &source);

} // namespace dlc::import

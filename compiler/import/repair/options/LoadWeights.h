// SPDX-License-Identifier: Apache-2.0
// --weights: loads the model's weights from another file.
#pragma once
#include "compiler/import/roles/Roles.h"
#include <set>

namespace dlc::import {

struct WeightsSource {
  std::string path; // *.safetensors or *.onnx
  /// Names that only one of the files has, or whose shapes differ, are skipped;
  /// otherwise they are an error.
  bool partial = false;
  /// Names that always keep the model's value, such as those of a new head.
  std::set<std::string> except;
};

/// Gives each weight and running statistic of `file` the value of the same name
/// in the source, converted if its float type differs. Returns the number of
/// matches; a summary, with the names that either file lacks and those of
/// another shape, is a remark of the file. Such names are Code::BadModel unless
/// `partial`. Integers of the source, such as counters, are ignored.
Result<int> loadWeights(OnnxFile &file, const WeightsSource &source);

} // namespace dlc::import

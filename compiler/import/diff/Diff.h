// SPDX-License-Identifier: Apache-2.0
// What tells two ONNX models apart.
#pragma once
#include "runtime/base/Status.h"
#include <string>
#include <vector>

namespace dlc::import {

/// An initializer of both models, of one type and shape, whose bits differ.
struct ValueDiff {
  std::string name, type; // type: ONNX's, "FLOAT"
  std::vector<int64_t> shape;
  int64_t elements = 0, differing = 0;
  /// Largest |a - b|, and that by max(|a|, |b|), of the numbers that differ and
  /// are finite in both; the count of others.
  double absolute = 0, relative = 0;
  int64_t notFinite = 0;
};

struct ModelDiff {
  std::vector<std::string> onlyA, onlyB; // initializers
  std::vector<std::string> layout;       // a sentence each: types and shapes
  std::vector<std::string> graph; // nodes, attributes, inputs, outputs, opsets
  std::vector<ValueDiff> values;
  int64_t equal = 0; // initializers without a difference

  bool sameStructure() const {
    return onlyA.empty() && onlyB.empty() && layout.empty() && graph.empty();
  }
  bool same() const { return sameStructure() && values.empty(); }
};

/// Compares two models with their external data: initializers by name, nodes by
/// their first output. Functions count as the nodes that they stand for. The
/// order of nodes and initializers, notes, documentation and stored shapes of
/// inner values do not count. Code::BadModel for what is no model that dlc
/// reads, or as `budget` (bytes beside the files) does not allow it.
Result<ModelDiff> diffModels(const std::string &a, const std::string &b,
                             size_t budget);

} // namespace dlc::import

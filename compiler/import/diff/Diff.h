// SPDX-License-Identifier: Apache-2.0
// Compares two ONNX models.
#pragma once
#include "runtime/base/Status.h"
#include <string>
#include <vector>

namespace dlc::import {

/// An initializer with equal type and shape but different bits in two models.
struct ValueDiff {
  std::string name, type; // ONNX's type name, "FLOAT"
  std::vector<int64_t> shape;
  int64_t elements = 0, differing = 0;
  /// Maxima of |a - b| and |a - b| / max(|a|, |b|) over differing elements that
  /// are finite in both models; `notFinite` is the number of the other ones.
  double absolute = 0, relative = 0;
  int64_t notFinite = 0;
};

struct ModelDiff {
  std::vector<std::string> onlyA, onlyB; // initializers
  std::vector<std::string> layout;       // a sentence for each type or shape
  std::vector<std::string> graph; // nodes, attributes, inputs, outputs, opsets
  std::vector<ValueDiff> values;
  int64_t equal = 0; // initializers without a difference

  bool sameStructure() const {
    return onlyA.empty() && onlyB.empty() && layout.empty() && graph.empty();
  }
  bool same() const { return sameStructure() && values.empty(); }
};

/// Compares two models with their external data: initializers by name, nodes by
/// first output. Functions are inlined. The order of nodes and initializers,
/// metadata, documentation and stored shapes of intermediate values are
/// ignored. Code::BadModel for a file that is not a valid model or exceeds
/// `budget` (bytes in addition to the files' sizes).
Result<ModelDiff> diffModels(const std::string &a, const std::string &b,
                             size_t budget);

} // namespace dlc::import

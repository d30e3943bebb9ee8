// SPDX-License-Identifier: Apache-2.0
// Types that a file declares for its values.
#pragma once
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include "compiler/import/tensor/ShapeMath.h"
#include <unordered_map>
#include <vector>

namespace dlc::import {

/// Declared types of values, by name, from the graph's outputs and value_info.
/// Refers to the graph.
class Declared {
public:
  explicit Declared(const onnx::GraphProto &graph);

  /// An error if the declared element type of `name` differs from `type`. A
  /// different shape is only counted: exporters and tools leave stale shapes,
  /// and the import does not use them.
  Status check(const std::string &name, const ValueType &type,
               const Shape &shape);

  /// One sentence on the shapes that differed; "" if none did.
  std::string staleShapes() const;

private:
  std::unordered_map<std::string, std::vector<const onnx::ValueInfoProto *>>
      values;
  size_t stale = 0;
  std::string firstStale;
};

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// The types that a file declares for its values.
#pragma once
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/tensor/ShapeMath.h"
#include <unordered_map>
#include <vector>

namespace onnx {
class ValueInfoProto;
} // namespace onnx

namespace dlc::import {

/// What a graph's outputs and value_info say about its values, by name. Refers
/// to the graph.
class Declared {
public:
  explicit Declared(const onnx::GraphProto &graph);

  /// An error when `name` is declared of another element type than it has. Of
  /// another shape: exporters and tools leave stale ones, and nothing depends
  /// on them, so that is only counted.
  Status check(const std::string &name, const ValueType &type,
               const Shape &shape);

  /// One sentence on the shapes that differed; "" when none did.
  std::string staleShapes() const;

private:
  std::unordered_map<std::string, std::vector<const onnx::ValueInfoProto *>>
      values;
  size_t stale = 0;
  std::string firstStale;
};

} // namespace dlc::import

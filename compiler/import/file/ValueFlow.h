// SPDX-License-Identifier: Apache-2.0
// Which nodes compute and read the values of a graph.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc::import {

class ValueFlow {
public:
  /// Input `slot` of a node.
  struct Reader {
    const onnx::NodeProto *node;
    int slot;
  };

  void add(const onnx::NodeProto &node);
  /// Adds the node and those of its subgraphs.
  void addWithBodies(const onnx::NodeProto &node);

  /// Null for values that no node computes.
  const onnx::NodeProto *maker(const std::string &value) const;
  /// In the order in which nodes were added.
  std::span<const Reader> readers(const std::string &value) const;

private:
  std::unordered_map<std::string, const onnx::NodeProto *> makers;
  std::unordered_map<std::string, std::vector<Reader>> users;
};

} // namespace dlc::import

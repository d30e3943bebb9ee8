// SPDX-License-Identifier: Apache-2.0
// Who reads and who makes each value of a graph, as of when it was indexed.
#pragma once

#include "onnx-ml.pb.h"

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc::exporter {

struct Reader {
  onnx::NodeProto *node;
  int input;
};

/// Pointers into the graph: nodes and initializers may change, not move.
class GraphIndex {
public:
  explicit GraphIndex(onnx::GraphProto &graph);

  const std::vector<Reader> &readers(const std::string &value) const;
  /// Null: a graph's input, or an initializer.
  onnx::NodeProto *maker(const std::string &value) const;
  onnx::TensorProto *initializer(const std::string &name) const;
  /// Read by a graph inside of a node, or the graph's output.
  bool isFixed(const std::string &value) const { return fixed_.count(value); }
  bool has(const std::string &name) const { return names_.count(name); }
  /// `wanted`, or that with a number behind, which nothing has; now it has.
  std::string unusedName(const std::string &wanted);

private:
  std::unordered_map<std::string, std::vector<Reader>> readers_;
  std::unordered_map<std::string, onnx::NodeProto *> makers_;
  std::unordered_map<std::string, onnx::TensorProto *> initializers_;
  std::set<std::string> fixed_, names_;
};

/// Initializers that nothing reads any more go, with what is said of values
/// that are no longer there.
void dropUnread(onnx::GraphProto &graph);

/// The attribute, or null.
const onnx::AttributeProto *attributeOf(const onnx::NodeProto &node,
                                        const std::string &name);
int64_t integerOf(const onnx::NodeProto &node, const std::string &name,
                  int64_t otherwise);

/// The numbers of an f32 initializer that has its data as raw bytes.
std::vector<float> floatsOf(const onnx::TensorProto &tensor);
void setFloats(const std::vector<float> &values, onnx::TensorProto &to);

} // namespace dlc::exporter

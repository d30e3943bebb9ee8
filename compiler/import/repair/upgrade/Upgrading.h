// SPDX-License-Identifier: Apache-2.0
// Helpers for rules that replace one node by others.
#pragma once
#include "compiler/import/file/Functions.h"
#include "compiler/import/file/NodeView.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

/// The nodes that a rule has made so far, and names for values.
class Upgrade {
public:
  Upgrade(const onnx::NodeProto &node, int64_t opset, const UnusedName &unused)
      : node(node), view(node, opset), unused(unused) {}

  const onnx::NodeProto &node;
  NodeView view;
  std::vector<onnx::NodeProto> nodes;

  /// Adds a node with one result and returns it.
  onnx::NodeProto &add(const char *op, std::vector<std::string> inputs) {
    onnx::NodeProto &added = nodes.emplace_back();
    added.set_op_type(op);
    added.set_name(node.name() + "/" + op);
    for (std::string &input : inputs)
      *added.add_input() = std::move(input);
    added.add_output(unused(node.output(0) + "#" + op));
    return added;
  }
  std::string result() const { return nodes.back().output(0); }

  std::string constant(const onnx::TensorProto &value) {
    auto *attribute = add("Constant", {}).add_attribute();
    attribute->set_name("value");
    attribute->set_type(onnx::AttributeProto::TENSOR);
    *attribute->mutable_t() = value;
    return result();
  }
  std::string integers(const std::vector<int64_t> &values) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(int64_t(values.size()));
    for (int64_t value : values)
      tensor.add_int64_data(value);
    return constant(tensor);
  }
  std::string integer(int64_t value) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(value);
    return constant(tensor);
  }
  /// A scalar with the element type of the first input.
  std::string number(float value) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
    std::string given = constant(tensor);
    add("CastLike", {given, node.input(0)});
    return result();
  }

  std::string unique(std::string name) const { return unused(std::move(name)); }
  /// Names the last node's first result after the old node's.
  void finish() { nodes.back().set_output(0, node.output(0)); }
  std::string input(int i) const {
    return i < node.input_size() ? node.input(i) : "";
  }

  /// Adds a copy of the node itself, which must be the last.
  onnx::NodeProto &same() { return nodes.emplace_back(node); }

private:
  const UnusedName &unused;
};

inline void setInteger(onnx::NodeProto &node, const char *name, int64_t value) {
  auto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}
inline void setText(onnx::NodeProto &node, const char *name,
                    const char *value) {
  auto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(value);
}

/// Appends the new nodes, or none if the node is kept.
using Rule = Status (*)(Upgrade &);

} // namespace dlc::import

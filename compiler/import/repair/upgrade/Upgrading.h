// SPDX-License-Identifier: Apache-2.0
// Rules that replace one node by others: upgrades from older opsets, and
// ai.onnx's operators for those of com.microsoft, which exporters and
// optimizers write.
#pragma once
#include "compiler/import/file/Functions.h"
#include "compiler/import/file/NodeView.h"
#include "onnx-ml.pb.h"
#include <map>

namespace dlc::import {

/// The nodes that a rule has made so far, and names for values.
class Upgrade {
public:
  Upgrade(const onnx::NodeProto &node, int64_t opset, const UnusedName &unused)
      : node(node), view(node, opset), unused(unused) {}

  const onnx::NodeProto &node;
  NodeView view;
  /// The first result of the last one gets the old node's name.
  std::vector<onnx::NodeProto> nodes;

  /// Adds a node, and returns its only result.
  std::string add(const std::string &op, const std::vector<std::string> &inputs,
                  const Settings &settings = {}) {
    const std::string name = op.substr(op.rfind('.') + 1);
    nodes.push_back(newNode(op, node.name() + "/" + name, inputs,
                            {unused(node.output(0) + "#" + name)}, settings));
    return result();
  }
  /// The first result of the last node.
  std::string result() const { return nodes.back().output(0); }

  std::string constant(const onnx::TensorProto &value) {
    nodes.push_back(newConstant(value, node.name() + "/Constant",
                                unused(node.output(0) + "#Constant")));
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
  /// A scalar with the element type of the first input.
  std::string number(float value) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
    return add("CastLike", {constant(tensor), node.input(0)});
  }

  std::string unique(std::string name) const { return unused(std::move(name)); }
  std::string input(int i) const { return inputOf(node, i); }
  /// Adds a copy of the node itself, which must be the last.
  onnx::NodeProto &same() { return nodes.emplace_back(node); }

private:
  const UnusedName &unused;
};

/// Adds the new nodes, or none if the node is kept.
using Rule = Status (*)(Upgrade &);
/// All rules for com.microsoft by operatorName.
const std::map<std::string, Rule> &contribRules();

/// Nodes of the newest opset, in order, equivalent to `node` of `opset`; empty
/// if the node's form is still valid. `unused` returns a unique value name.
Result<std::vector<onnx::NodeProto>>
upgraded(const onnx::NodeProto &node, int64_t opset, const UnusedName &unused);
/// The same for a ScatterND at the elements of a mask, whose number depends on
/// data; empty for others. `flow` is that of the graph.
std::vector<onnx::NodeProto> withoutNonZero(const onnx::NodeProto &node,
                                            const ValueFlow &flow,
                                            const UnusedName &unused);
/// The same, with nodes of ai.onnx for an operator of com.microsoft.
Result<std::vector<onnx::NodeProto>> withoutContrib(const onnx::NodeProto &node,
                                                    const UnusedName &unused);

} // namespace dlc::import

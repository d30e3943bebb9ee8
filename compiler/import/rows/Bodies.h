// SPDX-License-Identifier: Apache-2.0
// Imports the nodes of a subgraph in place of the node that contains it.
#pragma once
#include "compiler/import/file/Functions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"

namespace dlc::import {

using GraphNames = std::map<std::string, std::string>;

/// Creates nodes and imports them immediately.
class BodyExpander {
public:
  explicit BodyExpander(const Node &n) : n(n), label(nodeLabel(n.proto)) {}

  /// Imports the nodes of `graph` as PREFIX/NODE and returns the names of its
  /// outputs' values; `names` maps its inputs.
  FailureOr<std::vector<std::string>> run(const onnx::GraphProto &graph,
                                          const std::string &prefix,
                                          GraphNames names) const {
    std::vector<onnx::NodeProto> made;
    for (const auto &tensor : graph.initializer())
      DLC_CHECK(
          add(newConstant(tensor, "", tensor.name()), prefix, names, made));
    if (graph.sparse_initializer_size())
      return n.fail("sparse initializers of a body are not supported");
    for (const auto &node : graph.node())
      DLC_CHECK(add(node, prefix, names, made));
    std::vector<std::string> outputs;
    for (const auto &output : graph.output()) {
      auto it = names.find(output.name());
      outputs.push_back(it == names.end() ? output.name() : it->second);
      n.table.use(outputs.back());
    }
    for (const auto &node : made)
      DLC_CHECK(import(node));
    for (const std::string &output : outputs)
      if (!n.table.isDefined(output))
        return n.fail("output '{}' of its body is not defined",
                      printable(output));
    return outputs;
  }

  /// Adds a node that reads existing values; returns its result's name.
  FailureOr<std::string> apply(const char *op,
                               const std::vector<std::string> &inputs,
                               const std::string &result,
                               std::optional<int64_t> axis = {}) const {
    auto node = newNode(op, label, inputs, {n.table.unusedName(result)},
                        axis ? Settings{Setting("axis", *axis)} : Settings());
    n.table.useAll(node);
    DLC_CHECK(import(node));
    return node.output(0);
  }

  std::string define(const std::string &name, HostTensor value) const {
    std::string made = n.table.unusedName(name);
    n.table.define(made, std::move(value));
    n.table.use(made); // until the import ends
    return made;
  }

  /// Sets the node's output `i` to a named value.
  LogicalResult give(int i, const std::string &value) const {
    if (i >= n.proto.output_size() || n.proto.output(i).empty())
      return mlir::success();
    n.table.use(value);
    return import(newNode("Identity", label, {value}, {n.proto.output(i)}));
  }

  /// Type of a value whose shape is known.
  mlir::RankedTensorType type(const std::string &name) const {
    return n.table.type(name);
  }

  const Node &n;
  const std::string label;

private:
  /// Imports a copy of the node, with unique names.
  LogicalResult add(const onnx::NodeProto &node, const std::string &prefix,
                    GraphNames &names,
                    std::vector<onnx::NodeProto> &made) const {
    DLC_CHECK(n.check(n.table.budget().keep(
        node.ByteSizeLong() + kMadeNodeBytes, "expanding '" + label + "'")));
    onnx::NodeProto copy = node;
    renameReferences(copy, names);
    copy.set_name(prefix + "/" +
                  (node.name().empty() ? node.op_type() : node.name()));
    for (std::string &output : *copy.mutable_output()) {
      if (output.empty())
        continue;
      std::string own = n.table.unusedName(prefix + "/" + output);
      if (!names.emplace(output, own).second)
        return n.fail("{} of its body: output '{}' is already defined",
                      describe(node), printable(output));
      output = own;
    }
    for (const std::string &input : copy.input())
      if (!input.empty())
        n.table.use(input);
    for (const std::string &name : namesFromOutside(copy))
      n.table.use(name);
    made.push_back(std::move(copy));
    return mlir::success();
  }

  LogicalResult import(const onnx::NodeProto &node) const {
    const std::string op = operatorName(node);
    if (op != node.op_type() && !allRows().count(op))
      return n.fail("{} of its body: the operator is not supported",
                    describe(node));
    for (const std::string &input : node.input())
      if (!input.empty() && !n.table.isDefined(input))
        return n.fail(
            "{} of its body: input '{}' is not defined by a node before it",
            describe(node), printable(input));
    return n.table.importNode(node);
  }
};

} // namespace dlc::import

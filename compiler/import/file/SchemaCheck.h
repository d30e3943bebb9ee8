// SPDX-License-Identifier: Apache-2.0
// Each node against ONNX's definition of its operator.
#pragma once
#include "compiler/import/file/Schema.h"
#include "runtime/base/Status.h"
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// What needs no types, for every node of ai.onnx that ONNX defines, in
/// subgraphs, too: how many
/// inputs and outputs, none of those required left out, attributes that are
/// known, given once, of their type, and none required left out. An error names
/// the node.
Status checkNodes(const onnx::GraphProto &graph, int64_t opset);

/// The type of a value: an onnx::TensorProto::DataType, or a sequence of such
/// tensors.
struct ValueType {
  int element = 0;
  bool isSequence = false;
  bool operator==(const ValueType &) const = default;
};

/// "FLOAT", "sequence of INT64".
std::string toString(const ValueType &type);

/// The element types of one node that has passed checkNodes; errors do not name
/// it. A node that ONNX does not define passes.
class TypeCheck {
public:
  TypeCheck(const onnx::NodeProto &node, int64_t opset);

  /// Gives the type of a value by its name; nothing when it has none yet.
  using TypeOf = std::function<std::optional<ValueType>(const std::string &)>;

  /// Each input is of a type that the operator takes, and those that must be of
  /// one type are.
  Status inputs(const TypeOf &typeOf);
  /// The same of what the node has become; after inputs().
  Status outputs(const TypeOf &typeOf);
  /// The type that output `i` must have, by what the inputs are or as the only
  /// one; 0 when there is none. After inputs().
  int outputType(int i) const;

private:
  Status check(const SchemaParameter &parameter, const std::string &name,
               const char *what, const ValueType &type);

  struct Binding {
    ValueType type;
    std::string name; // of the value that decided
  };
  const onnx::NodeProto &node;
  const Schema *schema;
  std::map<std::string_view, Binding> variables;
};

} // namespace dlc::import

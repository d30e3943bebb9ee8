// SPDX-License-Identifier: Apache-2.0
// Checks nodes against ONNX's operator schemas.
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

/// Checks that need no types, for all nodes of ai.onnx that ONNX defines, also
/// in subgraphs: the numbers of inputs and outputs, required inputs, outputs
/// and attributes, unknown or duplicate attributes, and attribute types. Errors
/// name the node.
Status checkNodes(const onnx::GraphProto &graph, int64_t opset);

/// The type of a value: a tensor of this element type
/// (onnx::TensorProto::DataType), or a sequence of such tensors.
struct ValueType {
  int element = 0;
  bool isSequence = false;
  bool operator==(const ValueType &) const = default;
};

/// "FLOAT", "sequence of INT64".
std::string toString(const ValueType &type);

/// Checks the element types of a node that has passed checkNodes. Errors do not
/// name the node. Nodes that ONNX does not define pass.
class TypeCheck {
public:
  TypeCheck(const onnx::NodeProto &node, int64_t opset);

  /// Returns the type of a value by name; nullopt if it is not known yet.
  using TypeOf = std::function<std::optional<ValueType>(const std::string &)>;

  /// Each input has a type that the operator accepts, and inputs with the same
  /// type variable have equal types.
  Status inputs(const TypeOf &typeOf);
  /// The same for outputs of the imported node; called after inputs().
  Status outputs(const TypeOf &typeOf);
  /// The type of output `i` that input types or the schema determine; 0 if
  /// neither does. Called after inputs().
  int outputType(int i) const;

private:
  Status check(const SchemaParameter &parameter, const std::string &name,
               const char *what, const ValueType &type);

  struct Binding {
    ValueType type;
    std::string name; // of the value that bound the type
  };
  const onnx::NodeProto &node;
  const Schema *schema;
  std::map<std::string_view, Binding> variables;
};

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// ONNX's operator schemas by operatorName, generated at build time from the
// installed onnx package by tool/schemas.py, and checks of nodes against them.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include "runtime/base/Status.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dlc::import {

enum class Option { Required, Optional, Variadic };

/// A formal input or output. `tensors` and `sequences` have a bit for each
/// element type (onnx::TensorProto::DataType) that a tensor or a sequence of
/// tensors may have. Parameters with the same non-empty `variable` have the
/// same type.
struct SchemaParameter {
  std::string_view name, variable;
  uint32_t tensors, sequences;
  Option option;
};

struct SchemaAttribute {
  std::string_view name;
  int type; // onnx::AttributeProto::AttributeType
  bool isRequired;
};

/// One version of an operator. Only the last input and the last output can be
/// variadic.
struct Schema {
  std::string_view op;
  int since;
  int minInputs, maxInputs, minOutputs, maxOutputs;
  int firstParameter, inputCount, outputCount;
  int firstAttribute, attributeCount;

  std::span<const SchemaParameter> inputs() const;
  std::span<const SchemaParameter> outputs() const;
  std::span<const SchemaAttribute> attributes() const; // by name
};

/// The first opset, at least kOldestOpset, that has `op`; 0 if none has.
int firstOpset(std::string_view op);

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

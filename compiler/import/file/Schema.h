// SPDX-License-Identifier: Apache-2.0
// ONNX's operator schemas by operatorName, generated at build time from the
// installed onnx package by tool/schemas.py.
#pragma once
#include <cstdint>
#include <span>
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
  bool isDeprecated;
  int minInputs, maxInputs, minOutputs, maxOutputs;
  int firstParameter, inputCount, outputCount;
  int firstAttribute, attributeCount;

  std::span<const SchemaParameter> inputs() const;
  std::span<const SchemaParameter> outputs() const;
  std::span<const SchemaAttribute> attributes() const; // by name
};

/// The schema of `op` in a model of this opset, from kOldestOpset to
/// kNewestOpset; nullptr if ONNX does not define the operator there.
const Schema *findSchema(std::string_view op, int64_t opset);

/// The first opset, at least kOldestOpset, that has `op`; 0 if none has.
int firstOpset(std::string_view op);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
// ONNX's own definitions of its operators, by operatorName, made at build time
// from the installed onnx package by tool/schemas.py.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace dlc::import {

enum class Option { Required, Optional, Variadic };

/// A formal input or output. `tensors` and `sequences` have a bit for each
/// onnx::TensorProto::DataType that it may be of, or be a sequence of.
/// Parameters with the same `variable` are of one type; "": on its own.
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

/// An operator since one opset. Only the last of the inputs, or outputs, can be
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

/// The version of `op` that a model of this opset means; nullptr when ONNX has
/// no such operator there. `opset` is from kOldestOpset to kNewestOpset.
const Schema *findSchema(std::string_view op, int64_t opset);

/// The first opset that has `op`, at least kOldestOpset; 0 when none has.
int firstOpset(std::string_view op);

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <bit>
#include <unordered_set>

namespace dlc::import {
namespace {
#include "compiler/import/file/Schemas.inc"
} // namespace

std::span<const SchemaParameter> Schema::inputs() const {
  return {kParameters + firstParameter, size_t(inputCount)};
}
std::span<const SchemaParameter> Schema::outputs() const {
  return {kParameters + firstParameter + inputCount, size_t(outputCount)};
}
std::span<const SchemaAttribute> Schema::attributes() const {
  return {kAttributes + firstAttribute, size_t(attributeCount)};
}

/// Schemas are sorted by operator, then by version.
/// The schema of `op` in a model of this opset, from kOldestOpset to
/// kNewestOpset; nullptr if ONNX does not define the operator there.
static const Schema *findSchema(std::string_view op, int64_t opset) {
  auto after = std::upper_bound(
      std::begin(kSchemas), std::end(kSchemas), std::pair(op, opset),
      [](const auto &wanted, const Schema &schema) {
        return wanted < std::pair(schema.op, int64_t(schema.since));
      });
  if (after == std::begin(kSchemas) || std::prev(after)->op != op)
    return nullptr;
  return std::prev(after);
}

int firstOpset(std::string_view op) {
  auto first = std::ranges::lower_bound(kSchemas, op, {}, &Schema::op);
  return first == std::end(kSchemas) || first->op != op ? 0 : first->since;
}
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

const Schema *schemaOf(const NodeProto &node, int64_t opset) {
  return findSchema(operatorName(node), opset);
}

std::string typeName(int attributeType) {
  return AttributeProto::AttributeType_IsValid(attributeType)
             ? AttributeProto::AttributeType_Name(
                   AttributeProto::AttributeType(attributeType))
             : std::to_string(attributeType);
}

/// "2", "1 to 3", "at least 1".
std::string range(int least, int most) {
  if (least == most)
    return std::to_string(least);
  return most == INT32_MAX ? fmt::format("at least {}", least)
                           : fmt::format("{} to {}", least, most);
}

/// The formal parameter of value `i`.
const SchemaParameter &parameterOf(std::span<const SchemaParameter> all,
                                   int i) {
  return all[std::min(size_t(i), all.size() - 1)];
}

using Names = google::protobuf::RepeatedPtrField<std::string>;

Status checkArity(const Names &names, const char *what, int least, int most,
                  std::span<const SchemaParameter> parameters) {
  if (names.size() < least || names.size() > most)
    return badModel("has {} {}s, expected {}", names.size(), what,
                    range(least, most));
  for (int i = 0; i < names.size(); ++i)
    if (names[i].empty() &&
        parameterOf(parameters, i).option == Option::Required)
      return badModel("{} {} ({}) is left out, but it is required", what, i,
                      parameterOf(parameters, i).name);
  return {};
}

/// Types of the fields that are set. A writer may omit a zero, so none is
/// possible.
std::vector<int> contents(const AttributeProto &a) {
  std::vector<int> found;
  auto add = [&](bool isThere, int type) {
    if (isThere)
      found.push_back(type);
  };
  add(a.has_f(), AttributeProto::FLOAT);
  add(a.has_i(), AttributeProto::INT);
  add(a.has_s(), AttributeProto::STRING);
  add(a.has_t(), AttributeProto::TENSOR);
  add(a.has_g(), AttributeProto::GRAPH);
  add(a.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR);
  add(a.has_tp(), AttributeProto::TYPE_PROTO);
  add(a.floats_size(), AttributeProto::FLOATS);
  add(a.ints_size(), AttributeProto::INTS);
  add(a.strings_size(), AttributeProto::STRINGS);
  add(a.tensors_size(), AttributeProto::TENSORS);
  add(a.graphs_size(), AttributeProto::GRAPHS);
  add(a.sparse_tensors_size(), AttributeProto::SPARSE_TENSORS);
  add(a.type_protos_size(), AttributeProto::TYPE_PROTOS);
  return found;
}

Status checkAttribute(const AttributeProto &given, const Schema &schema) {
  std::string name = printable(given.name());
  auto known = schema.attributes();
  auto it = std::ranges::find(known, given.name(), &SchemaAttribute::name);
  if (it == known.end())
    return badModel("attribute '{}' is not one of {} since opset {}", name,
                    schema.op, schema.since);
  if (given.type() != it->type)
    return badModel("attribute '{}' has type {}, expected {}", name,
                    typeName(given.type()), typeName(it->type));
  if (!given.ref_attr_name().empty())
    return badModel("attribute '{}' refers to '{}' of a function, but the node "
                    "is in none",
                    name, printable(given.ref_attr_name()));
  for (int content : contents(given))
    if (content != given.type())
      return badModel("attribute '{}' of type {} holds {}", name,
                      typeName(given.type()), typeName(content));
  return {};
}

Status checkAttributes(const NodeProto &node, const Schema &schema) {
  std::unordered_set<std::string_view> given;
  for (const AttributeProto &attribute : node.attribute()) {
    if (!given.insert(attribute.name()).second)
      return badModel("attribute '{}' is given twice",
                      printable(attribute.name()));
    DLC_TRY(checkAttribute(attribute, schema));
  }
  for (const SchemaAttribute &wanted : schema.attributes())
    if (wanted.isRequired && !given.count(wanted.name))
      return badModel("attribute '{}' is missing", wanted.name);
  return {};
}

Status checkNode(const NodeProto &node, const Schema &schema) {
  DLC_TRY(checkArity(node.input(), "input", schema.minInputs, schema.maxInputs,
                     schema.inputs()));
  DLC_TRY(checkArity(node.output(), "output", schema.minOutputs,
                     schema.maxOutputs, schema.outputs()));
  return checkAttributes(node, schema);
}

/// "FLOAT, INT64 or sequence of BOOL".
std::string listTypes(const SchemaParameter &parameter) {
  std::vector<std::string> names;
  for (int type = 0; type < 32; ++type) {
    if (parameter.tensors >> type & 1)
      names.push_back(toString(ValueType{type, false}));
    if (parameter.sequences >> type & 1)
      names.push_back(toString(ValueType{type, true}));
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

} // namespace

Status checkNodes(const onnx::GraphProto &graph, int64_t opset) {
  for (const NodeProto &node : graph.node()) {
    if (const Schema *schema = schemaOf(node, opset))
      DLC_TRY(checkNode(node, *schema).withContext(describe(node)));
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        DLC_TRY(checkNodes(attribute.g(), opset));
  }
  return {};
}

std::string toString(const ValueType &type) {
  return (type.isSequence ? "sequence of " : "") + onnxTypeName(type.element);
}

TypeCheck::TypeCheck(const NodeProto &node, int64_t opset)
    : node(node), schema(schemaOf(node, opset)) {}

Status TypeCheck::inputs(const TypeOf &typeOf) {
  for (int i = 0; schema && i < node.input_size(); ++i)
    if (auto type = typeOf(node.input(i)))
      DLC_TRY(check(parameterOf(schema->inputs(), i), node.input(i), "input",
                    *type));
  return {};
}

Status TypeCheck::outputs(const TypeOf &typeOf) {
  for (int i = 0; schema && i < node.output_size(); ++i)
    if (auto type = typeOf(node.output(i)))
      DLC_TRY(check(parameterOf(schema->outputs(), i), node.output(i), "output",
                    *type));
  return {};
}

int TypeCheck::outputType(int i) const {
  if (!schema || schema->outputs().empty())
    return 0;
  const SchemaParameter &parameter = parameterOf(schema->outputs(), i);
  auto bound = variables.find(parameter.variable);
  if (!parameter.variable.empty() && bound != variables.end())
    return bound->second.type.element;
  return std::has_single_bit(parameter.tensors)
             ? std::countr_zero(parameter.tensors)
             : 0;
}

Status TypeCheck::check(const SchemaParameter &parameter,
                        const std::string &name, const char *what,
                        const ValueType &type) {
  uint32_t allowed = type.isSequence ? parameter.sequences : parameter.tensors;
  if (!(allowed >> type.element & 1))
    return badModel("{} '{}' ({}) has type {}, but {} takes {} there", what,
                    printable(name), parameter.name, toString(type), schema->op,
                    listTypes(parameter));
  if (parameter.variable.empty())
    return {};
  auto [bound, isFirst] =
      variables.try_emplace(parameter.variable, Binding{type, name});
  if (isFirst || bound->second.type == type)
    return {};
  return badModel("{} '{}' ({}) has type {}, expected {} as '{}' has", what,
                  printable(name), parameter.name, toString(type),
                  toString(bound->second.type), printable(bound->second.name));
}

} // namespace dlc::import

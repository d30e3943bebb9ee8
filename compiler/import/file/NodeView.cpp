// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/NodeView.h"
#include "onnx-ml.pb.h"
#include "llvm/ADT/StringExtras.h"

namespace dlc::import {

bool isCore(const onnx::NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

std::string operatorName(const onnx::NodeProto &node) {
  return isCore(node) ? node.op_type() : node.domain() + "." + node.op_type();
}

std::string operatorLike(std::string_view op) {
  return llvm::convertToCamelFromSnakeCase(op.substr(op.find('.') + 1), true);
}

std::string nodeLabel(const onnx::NodeProto &node) {
  return node.name().empty() && node.output_size() ? node.output(0)
                                                   : node.name();
}

std::string inputOf(const onnx::NodeProto &node, int i) {
  return i < node.input_size() ? node.input(i) : "";
}

void addAttributes(onnx::NodeProto &node, const Settings &settings) {
  for (const auto &[name, value] : settings) {
    auto &attribute = *node.add_attribute();
    attribute.set_name(name);
    if (auto *whole = std::get_if<int64_t>(&value)) {
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(*whole);
    } else if (auto *number = std::get_if<double>(&value)) {
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(float(*number));
    } else if (auto *text = std::get_if<const char *>(&value)) {
      attribute.set_type(onnx::AttributeProto::STRING);
      attribute.set_s(*text);
    } else {
      attribute.set_type(onnx::AttributeProto::INTS);
      for (int64_t i : std::get<std::vector<int64_t>>(value))
        attribute.add_ints(i);
    }
  }
}

onnx::NodeProto newNode(const std::string &op, const std::string &name,
                        const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs,
                        const Settings &settings) {
  onnx::NodeProto node;
  const size_t dot = op.rfind('.');
  node.set_op_type(op.substr(dot + 1));
  if (dot != op.npos)
    node.set_domain(op.substr(0, dot));
  node.set_name(name);
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  addAttributes(node, settings);
  return node;
}

onnx::NodeProto newConstant(const onnx::TensorProto &value,
                            const std::string &name,
                            const std::string &output) {
  onnx::NodeProto node = newNode("Constant", name, {}, {output});
  auto &attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  *attribute.mutable_t() = value;
  return node;
}

const onnx::AttributeProto *NodeView::find(const std::string &name) const {
  for (const auto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

const onnx::AttributeProto *NodeView::findTyped(const std::string &name,
                                                int type) const {
  const auto *attribute = find(name);
  if (!attribute || attribute->type() == type)
    return attribute;
  wrong = badModel("attribute '{}' has type {}, expected {}", name,
                   onnx::AttributeProto::AttributeType_Name(attribute->type()),
                   onnx::AttributeProto::AttributeType_Name(
                       static_cast<onnx::AttributeProto::AttributeType>(type)));
  return nullptr;
}

int64_t NodeView::integer(const std::string &name, int64_t otherwise) const {
  const auto *found = findTyped(name, onnx::AttributeProto::INT);
  return found ? found->i() : otherwise;
}

double NodeView::number(const std::string &name, double otherwise) const {
  const auto *found = findTyped(name, onnx::AttributeProto::FLOAT);
  return found ? found->f() : otherwise;
}

std::string NodeView::text(const std::string &name,
                           const std::string &otherwise) const {
  const auto *found = findTyped(name, onnx::AttributeProto::STRING);
  return found ? found->s() : otherwise;
}

std::vector<int64_t> NodeView::integers(const std::string &name,
                                        std::vector<int64_t> otherwise) const {
  const auto *found = findTyped(name, onnx::AttributeProto::INTS);
  if (!found)
    return otherwise;
  return {found->ints().begin(), found->ints().end()};
}

void ValueFlow::add(const onnx::NodeProto &node) {
  for (const std::string &output : node.output())
    makers[output] = &node;
  for (int i = 0; i < node.input_size(); ++i)
    users[node.input(i)].push_back({&node, i});
}

void ValueFlow::addWithBodies(const onnx::NodeProto &node) {
  add(node);
  for (const auto &attribute : node.attribute())
    for (const auto &inner : attribute.g().node())
      addWithBodies(inner);
}

const onnx::NodeProto *ValueFlow::maker(const std::string &value) const {
  auto it = makers.find(value);
  return it == makers.end() ? nullptr : it->second;
}

std::span<const ValueFlow::Reader>
ValueFlow::readers(const std::string &value) const {
  auto it = users.find(value);
  return it == users.end() ? std::span<const Reader>() : it->second;
}

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/NodeView.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

std::string operatorName(const onnx::NodeProto &node) {
  const bool isCore = node.domain().empty() || node.domain() == "ai.onnx";
  return isCore ? node.op_type() : node.domain() + "." + node.op_type();
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

} // namespace dlc::import

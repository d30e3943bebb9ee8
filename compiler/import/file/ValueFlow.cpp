// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/ValueFlow.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

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

// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/quantize/GraphIndex.h"

#include <cstring>

namespace dlc::exporter {
namespace {

/// Every name that graphs inside of nodes read.
void addInner(const onnx::NodeProto &node, std::set<std::string> &names) {
  const auto addGraph = [&](const onnx::GraphProto &graph) {
    for (const auto &inner : graph.node()) {
      names.insert(inner.input().begin(), inner.input().end());
      addInner(inner, names);
    }
    for (const auto &output : graph.output())
      names.insert(output.name());
  };
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      addGraph(attribute.g());
    for (const auto &graph : attribute.graphs())
      addGraph(graph);
  }
}

} // namespace

GraphIndex::GraphIndex(onnx::GraphProto &graph) {
  for (auto &tensor : *graph.mutable_initializer())
    initializers_[tensor.name()] = &tensor;
  for (auto &node : *graph.mutable_node()) {
    for (int i = 0; i < node.input_size(); ++i)
      readers_[node.input(i)].push_back({&node, i});
    for (const auto &output : node.output())
      makers_[output] = &node;
    names_.insert(node.input().begin(), node.input().end());
    names_.insert(node.output().begin(), node.output().end());
    addInner(node, fixed_);
  }
  for (const auto &output : graph.output())
    fixed_.insert(output.name());
  for (const auto &input : graph.input())
    names_.insert(input.name());
  for (const auto &[name, tensor] : initializers_)
    names_.insert(name);
  names_.insert(fixed_.begin(), fixed_.end());
}

const std::vector<Reader> &GraphIndex::readers(const std::string &value) const {
  static const std::vector<Reader> none;
  const auto found = readers_.find(value);
  return found == readers_.end() ? none : found->second;
}

onnx::NodeProto *GraphIndex::maker(const std::string &value) const {
  const auto found = makers_.find(value);
  return found == makers_.end() ? nullptr : found->second;
}

onnx::TensorProto *GraphIndex::initializer(const std::string &name) const {
  const auto found = initializers_.find(name);
  return found == initializers_.end() ? nullptr : found->second;
}

std::string GraphIndex::unusedName(const std::string &wanted) {
  std::string name = wanted;
  for (int number = 1; names_.count(name); ++number)
    name = wanted + "_" + std::to_string(number);
  names_.insert(name);
  return name;
}

void dropUnread(onnx::GraphProto &graph) {
  std::set<std::string> read, there;
  for (const auto &node : graph.node()) {
    read.insert(node.input().begin(), node.input().end());
    there.insert(node.output().begin(), node.output().end());
    addInner(node, read);
  }
  for (const auto &output : graph.output())
    read.insert(output.name());
  const auto drop = [](auto &list, auto &&isUnread) {
    int kept = 0;
    for (int i = 0; i < list.size(); ++i)
      if (!isUnread(list[i]))
        list.SwapElements(i, kept++);
    list.DeleteSubrange(kept, list.size() - kept);
  };
  drop(*graph.mutable_initializer(),
       [&](const auto &tensor) { return !read.count(tensor.name()); });
  for (const auto &tensor : graph.initializer())
    there.insert(tensor.name());
  for (const auto &input : graph.input())
    there.insert(input.name());
  drop(*graph.mutable_value_info(),
       [&](const auto &info) { return !there.count(info.name()); });
}

const onnx::AttributeProto *attributeOf(const onnx::NodeProto &node,
                                        const std::string &name) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t integerOf(const onnx::NodeProto &node, const std::string &name,
                  int64_t otherwise) {
  const auto *attribute = attributeOf(node, name);
  return attribute ? attribute->i() : otherwise;
}

std::vector<float> floatsOf(const onnx::TensorProto &tensor) {
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(),
              values.size() * sizeof(float));
  return values;
}

void setFloats(const std::vector<float> &values, onnx::TensorProto &to) {
  to.set_data_type(onnx::TensorProto::FLOAT);
  to.set_raw_data(values.data(), values.size() * sizeof(float));
}

} // namespace dlc::exporter

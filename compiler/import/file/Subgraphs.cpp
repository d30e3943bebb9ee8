// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/file/OnnxFile.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {

/// Attributes that name values: y, xs and zs of a Gradient.
bool isOfNames(const onnx::NodeProto &node,
               const onnx::AttributeProto &attribute) {
  return node.op_type() == "Gradient" &&
         node.domain() == "ai.onnx.preview.training" &&
         (attribute.name() == "y" || attribute.name() == "xs" ||
          attribute.name() == "zs");
}

std::set<std::string> namesFromAround(const onnx::GraphProto &graph) {
  std::set<std::string> own{""}, outside;
  for (const auto &input : graph.input())
    own.insert(input.name());
  for (const auto &tensor : graph.initializer())
    own.insert(tensor.name());
  for (const auto &node : graph.node())
    own.insert(node.output().begin(), node.output().end());
  auto ask = [&](const std::string &name) {
    if (!own.count(name))
      outside.insert(name);
  };
  for (const auto &node : graph.node()) {
    for (const std::string &input : node.input())
      ask(input);
    for (const std::string &name : namesFromOutside(node))
      ask(name);
  }
  for (const auto &output : graph.output())
    ask(output.name());
  return outside;
}

void rename(std::string &name,
            const std::map<std::string, std::string> &names) {
  if (auto it = names.find(name); it != names.end())
    name = it->second;
}

void renameIn(onnx::GraphProto &graph,
              std::map<std::string, std::string> names) {
  for (const auto &input : graph.input())
    names.erase(input.name());
  for (const auto &tensor : graph.initializer())
    names.erase(tensor.name());
  for (const auto &node : graph.node())
    for (const std::string &output : node.output())
      names.erase(output);
  for (auto &node : *graph.mutable_node())
    renameReferences(node, names);
  for (auto &output : *graph.mutable_output())
    rename(*output.mutable_name(), names);
}

} // namespace

std::set<std::string> namesFromOutside(const onnx::NodeProto &node) {
  std::set<std::string> names;
  for (const auto &attribute : node.attribute())
    if (attribute.has_g()) {
      names.merge(namesFromAround(attribute.g()));
    } else if (isOfNames(node, attribute)) {
      names.insert(attribute.strings().begin(), attribute.strings().end());
      names.insert(attribute.s());
    }
  names.erase("");
  return names;
}

void renameInSubgraphs(onnx::NodeProto &node,
                       const std::map<std::string, std::string> &names) {
  for (auto &attribute : *node.mutable_attribute())
    if (attribute.has_g()) {
      renameIn(*attribute.mutable_g(), names);
    } else if (isOfNames(node, attribute)) {
      if (attribute.has_s())
        rename(*attribute.mutable_s(), names);
      for (std::string &name : *attribute.mutable_strings())
        rename(name, names);
    }
}

void renameReferences(onnx::NodeProto &node,
                      const std::map<std::string, std::string> &names) {
  for (std::string &input : *node.mutable_input())
    rename(input, names);
  renameInSubgraphs(node, names);
}

std::unordered_map<std::string, int> dropDeadNodes(OnnxFile &file) {
  std::unordered_map<std::string, int> uses;
  for (const auto &output : file.model->graph().output())
    ++uses[output.name()];
  std::vector<const onnx::NodeProto *> live;
  for (auto it = file.nodes.rbegin(); it != file.nodes.rend(); ++it) {
    const auto &outputs = (*it)->output();
    if (std::none_of(outputs.begin(), outputs.end(), [&](const auto &name) {
          return !name.empty() && uses.count(name);
        }))
      continue;
    for (const std::string &input : (*it)->input())
      ++uses[input];
    for (const std::string &name : namesFromOutside(**it))
      ++uses[name];
    live.push_back(*it);
  }
  std::reverse(live.begin(), live.end());
  file.nodes = std::move(live);
  return uses;
}

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/OnnxFile.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {

/// Attributes with value names: y, xs and zs of a Gradient.
bool isOfNames(const onnx::NodeProto &node,
               const onnx::AttributeProto &attribute) {
  return node.op_type() == "Gradient" &&
         node.domain() == "ai.onnx.preview.training" &&
         (attribute.name() == "y" || attribute.name() == "xs" ||
          attribute.name() == "zs");
}

} // namespace

std::set<std::string> definedIn(const onnx::GraphProto &graph) {
  std::set<std::string> own{""};
  for (const auto &input : graph.input())
    own.insert(input.name());
  for (const auto &tensor : graph.initializer())
    own.insert(tensor.name());
  for (const auto &node : graph.node())
    own.insert(node.output().begin(), node.output().end());
  return own;
}

namespace {

std::set<std::string> namesFromAround(const onnx::GraphProto &graph) {
  std::set<std::string> own = definedIn(graph), outside;
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

/// Calls `change` with each value name in attributes of `node`, except those in
/// subgraphs.
template <class Change> void changeHeld(onnx::NodeProto &node, Change change) {
  for (auto &attribute : *node.mutable_attribute())
    if (isOfNames(node, attribute)) {
      if (attribute.has_s())
        change(*attribute.mutable_s());
      for (std::string &name : *attribute.mutable_strings())
        change(name);
    }
}

void rename(std::string &name,
            const std::map<std::string, std::string> &names) {
  if (auto it = names.find(name); it != names.end())
    name = it->second;
}

void renameIn(onnx::GraphProto &graph,
              std::map<std::string, std::string> names) {
  for (const std::string &name : definedIn(graph))
    names.erase(name);
  for (auto &node : *graph.mutable_node())
    renameReferences(node, names);
  for (auto &output : *graph.mutable_output())
    rename(*output.mutable_name(), names);
}

class NameSeparator {
public:
  explicit NameSeparator(OnnxFile &file) : file(file) {}

  Status run() {
    count(file.model->graph());
    for (auto &node : *file.model->mutable_graph()->mutable_node())
      DLC_TRY(inBodies(node));
    return {};
  }

private:
  void count(const onnx::GraphProto &graph) {
    for (const std::string &name : definedIn(graph))
      ++definitions[name];
    for (const auto &node : graph.node())
      for (const auto &attribute : node.attribute())
        if (attribute.has_g())
          count(attribute.g());
  }

  Status inBodies(onnx::NodeProto &node) {
    for (auto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        DLC_TRY(inBody(*attribute.mutable_g(),
                       nodeLabel(node) + "/" + attribute.name()));
    return {};
  }

  Status inBody(onnx::GraphProto &graph, const std::string &prefix) {
    std::vector<std::string> renamed;
    for (const std::string &name : definedIn(graph))
      if (definitions[name] > 1 && !name.empty()) {
        const std::string base = prefix + "/" + name;
        std::string own;
        for (int &used = marks[base]; own.empty() || definitions.count(own);
             ++used)
          own = used ? fmt::format("{}'{}", base, used) : base;
        DLC_TRY(file.budget.keep(own.size(), "the names of '" + prefix + "'"));
        ++definitions[own];
        names[name].push_back(std::move(own));
        renamed.push_back(name);
      }
    auto changeAll = [&](auto &values) {
      for (auto &value : values)
        change(*value.mutable_name());
    };
    changeAll(*graph.mutable_input());
    changeAll(*graph.mutable_initializer());
    changeAll(*graph.mutable_value_info());
    for (auto &node : *graph.mutable_node()) {
      for (std::string &input : *node.mutable_input())
        change(input);
      changeHeld(node, [&](std::string &name) { change(name); });
      for (std::string &output : *node.mutable_output())
        change(output);
      DLC_TRY(inBodies(node));
    }
    changeAll(*graph.mutable_output());
    for (const std::string &name : renamed)
      names[name].pop_back();
    return {};
  }

  void change(std::string &name) const {
    if (auto it = names.find(name); it != names.end() && !it->second.empty())
      name = it->second.back();
  }

  OnnxFile &file;
  std::unordered_map<std::string, int> definitions; // in how many graphs
  std::unordered_map<std::string, int> marks;       // suffixes of new names
  /// Current names by enclosing graph, the innermost last.
  std::unordered_map<std::string, std::vector<std::string>> names;
};

} // namespace

Status separateNames(OnnxFile &file) { return NameSeparator(file).run(); }

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
    if (attribute.has_g())
      renameIn(*attribute.mutable_g(), names);
  changeHeld(node, [&](std::string &name) { rename(name, names); });
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
    if (std::ranges::none_of(outputs, [&](const auto &name) {
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

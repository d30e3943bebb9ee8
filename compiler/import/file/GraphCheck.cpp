// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {
namespace {

constexpr int kFromOutside = -1;

/// Maps each name of the graph to the node that defines it.
using Definitions = std::unordered_map<std::string_view, int>;

Result<Definitions> definitions(const onnx::GraphProto &graph) {
  Definitions defined;
  auto add = [&](const auto &values, const char *article, const char *what,
                 const char *is) -> Status {
    std::unordered_set<std::string_view> names;
    for (const auto &value : values) {
      if (value.name().empty())
        return badModel("{} {} has no name", article, what);
      if (!names.insert(value.name()).second)
        return badModel("{} '{}' is {} twice", what, printable(value.name()),
                        is);
      defined[value.name()] = kFromOutside;
    }
    return {};
  };
  DLC_TRY(add(graph.input(), "a", "graph input", "declared"));
  DLC_TRY(add(graph.initializer(), "an", "initializer", "defined"));
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &output : graph.node(i).output())
      if (!output.empty() && !defined.emplace(output, i).second)
        return badModel("{}: output '{}' is already defined",
                        describe(graph.node(i)), printable(output));
  return defined;
}

/// An initializer that is also an input, as IR versions before 4 require, must
/// match that input's declaration.
Status checkDefaults(const onnx::GraphProto &graph) {
  std::unordered_map<std::string_view, const onnx::TensorProto *> tensors;
  for (const auto &tensor : graph.initializer())
    tensors[tensor.name()] = &tensor;
  for (const auto &input : graph.input()) {
    auto it = tensors.find(input.name());
    if (it == tensors.end() || !input.type().has_tensor_type())
      continue;
    const auto &declared = input.type().tensor_type();
    const auto &dims = declared.shape().dim();
    bool fits = !declared.elem_type() ||
                declared.elem_type() == it->second->data_type();
    if (declared.has_shape())
      fits &=
          std::equal(dims.begin(), dims.end(), it->second->dims().begin(),
                     it->second->dims().end(), [](auto &dim, int64_t size) {
                       return !dim.has_dim_value() || dim.dim_value() == size;
                     });
    if (!fits)
      return badModel(
          "initializer '{}' is {} [{}], but the graph input of that "
          "name is declared otherwise",
          printable(input.name()), onnxTypeName(it->second->data_type()),
          fmt::join(it->second->dims(), ", "));
  }
  return {};
}

Status checkOutputs(const onnx::GraphProto &graph, const Definitions &defined) {
  if (graph.output().empty())
    return badModel("the graph has no outputs");
  std::unordered_set<std::string_view> names;
  for (const auto &output : graph.output()) {
    if (!defined.count(output.name()))
      return badModel("graph output '{}' is not defined",
                      printable(output.name()));
    if (!names.insert(output.name()).second)
      return badModel("graph output '{}' is declared twice",
                      printable(output.name()));
  }
  return {};
}

/// The error for waiting nodes, which are on a cycle or depend on one.
Status cycleError(const onnx::GraphProto &graph,
                  const std::vector<int> &waiting) {
  std::vector<std::string> names;
  for (int i = 0; i < graph.node_size(); ++i)
    if (waiting[i] > 0)
      names.push_back(describe(graph.node(i)));
  return badModel("the graph has a cycle: {}", listed(names, 8));
}

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Checks a name; `what` describes it in errors.
using Check = Status (*)(const std::string &name, const char *what);

Status isText(const std::string &name, const char *what) {
  if (isUtf8(name))
    return {};
  return badModel("the name of {}, '{}', is not UTF-8", what, printable(name));
}

Status isShort(const std::string &name, const char *what) {
  if (name.size() <= kMaxName)
    return {};
  return badModel("the name of {}, '{}', has {} bytes, expected at most {}",
                  what, printable(name, 40), name.size(), kMaxName);
}

template <class Names>
Status all(const Names &names, const char *what, Check check) {
  for (const std::string &name : names)
    DLC_TRY(check(name, what));
  return {};
}

template <class Named>
Status allOf(const Named &named, const char *what, Check check) {
  for (const auto &item : named)
    DLC_TRY(check(item.name(), what));
  return {};
}

Status inNodes(const Nodes &nodes, Check check) {
  for (const auto &node : nodes) {
    DLC_TRY(check(node.name(), "a node"));
    DLC_TRY(check(node.op_type(), "an operator"));
    DLC_TRY(check(node.domain(), "a domain"));
    DLC_TRY(check(node.overload(), "an overload"));
    DLC_TRY(all(node.input(), "a value", check));
    DLC_TRY(all(node.output(), "a value", check));
    for (const auto &attribute : node.attribute()) {
      DLC_TRY(check(attribute.name(), "an attribute"));
      DLC_TRY(check(attribute.ref_attr_name(), "an attribute"));
    }
  }
  return {};
}

Status inGraph(const onnx::GraphProto &graph, Check check) {
  DLC_TRY(allOf(graph.input(), "a graph input", check));
  DLC_TRY(allOf(graph.output(), "a graph output", check));
  DLC_TRY(allOf(graph.initializer(), "an initializer", check));
  return inNodes(graph.node(), check);
}

Status inFunction(const onnx::FunctionProto &function, Check check) {
  DLC_TRY(check(function.name(), "a function"));
  DLC_TRY(check(function.domain(), "a domain"));
  DLC_TRY(all(function.input(), "a value", check));
  DLC_TRY(all(function.output(), "a value", check));
  DLC_TRY(all(function.attribute(), "an attribute", check));
  return inNodes(function.node(), check);
}

/// Symbolic dimensions may be long: exporters name them by expressions.
template <class Infos> Status dimensionsAreText(const Infos &infos) {
  for (const auto &info : infos)
    for (const auto &dim : info.type().tensor_type().shape().dim())
      DLC_TRY(isText(dim.dim_param(), "a dimension"));
  return {};
}

} // namespace

std::string describe(const onnx::NodeProto &node) {
  const std::string op = printable(operatorName(node)),
                    label = printable(nodeLabel(node));
  return node.name().empty() ? fmt::format("node {} -> '{}'", op, label)
                             : fmt::format("node '{}' ({})", label, op);
}

Result<std::vector<const onnx::NodeProto *>>
sortedNodes(const onnx::GraphProto &graph) {
  DLC_ASSIGN(auto defined, definitions(graph));
  int count = graph.node_size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> users(count);
  for (int i = 0; i < count; ++i) {
    auto ask = [&](const std::string &input) -> Status {
      auto it = input.empty() ? defined.end() : defined.find(input);
      if (it == defined.end() && !input.empty())
        return badModel("{}: input '{}' is not defined by any node, input or "
                        "initializer",
                        describe(graph.node(i)), printable(input));
      if (input.empty() || it->second == kFromOutside)
        return {};
      users[it->second].push_back(i);
      ++waiting[i];
      return {};
    };
    for (const std::string &input : graph.node(i).input())
      DLC_TRY(ask(input));
    for (const std::string &name : namesFromOutside(graph.node(i)))
      DLC_TRY(ask(name));
  }
  DLC_TRY(checkDefaults(graph));
  DLC_TRY(checkOutputs(graph, defined));
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < count; ++i)
    if (waiting[i] == 0)
      ready.push(i);
  std::vector<const onnx::NodeProto *> order;
  while (!ready.empty()) {
    int next = ready.top();
    ready.pop();
    order.push_back(&graph.node(next));
    for (int user : users[next])
      if (--waiting[user] == 0)
        ready.push(user);
  }
  if (int(order.size()) != count)
    return cycleError(graph, waiting);
  return order;
}

Status checkNames(const onnx::ModelProto &model) {
  for (const auto &opset : model.opset_import())
    DLC_TRY(isText(opset.domain(), "a domain"));
  DLC_TRY(dimensionsAreText(model.graph().input()));
  DLC_TRY(dimensionsAreText(model.graph().output()));
  for (const auto &function : model.functions())
    DLC_TRY(inFunction(function, isText));
  return inGraph(model.graph(), isText);
}

Status checkNameLengths(const onnx::GraphProto &graph) {
  return inGraph(graph, isShort);
}

std::string listed(const std::vector<std::string> &names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(),
                                  names.begin() + std::ptrdiff_t(shown), ", "));
  return shown == names.size()
             ? text
             : fmt::format("{} and {} more", text, names.size() - shown);
}

std::string listedBelow(const char *what,
                        const std::vector<std::string> &names) {
  constexpr size_t kMost = 8;
  return names.empty() ? ""
                       : fmt::format("\n  {} {}: {}", names.size(), what,
                                     listed(names, kMost));
}

} // namespace dlc::import

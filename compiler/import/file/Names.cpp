// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Names.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

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

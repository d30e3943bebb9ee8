// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Functions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <map>
#include <unordered_map>

namespace dlc::import {
namespace {

constexpr int kMaxCallDepth = 64;
constexpr int kMaxGraphDepth = 16;

using Key = std::string; // domain, name and overload

/// dlc's own operator; its function is only for other tools.
constexpr std::string_view kStopGradient = "ai.dlc::StopGradient";

Key keyOf(const std::string &domain, const std::string &name,
          const std::string &overload) {
  return fmt::format("{}::{}{}{}", domain == "ai.onnx" ? "" : domain, name,
                     overload.empty() ? "" : ":", overload);
}
Key keyOf(const onnx::NodeProto &node) {
  return keyOf(node.domain(), node.op_type(), node.overload());
}

/// Bytes of a message in memory, where numbers are larger than in a file.
size_t spaceOf(const onnx::NodeProto &node) {
  size_t bytes = node.ByteSizeLong();
  for (const auto &attribute : node.attribute())
    bytes +=
        8 * size_t(attribute.ints_size() + attribute.t().int32_data_size() +
                   attribute.t().int64_data_size());
  return bytes;
}

using Attributes = std::map<std::string, const onnx::AttributeProto *>;
using Renamed = std::map<std::string, std::string>;

Status checkInputs(const onnx::NodeProto &node, const Renamed &names) {
  for (const std::string &input : node.input())
    if (!names.count(input))
      return badModel("{}: input '{}' is not defined in the function",
                      describe(node), printable(input));
  return Status();
}

Attributes attributesOf(const onnx::FunctionProto &function,
                        const onnx::NodeProto &node) {
  Attributes given;
  for (const auto &attribute : function.attribute_proto())
    given[attribute.name()] = &attribute;
  for (const auto &attribute : node.attribute())
    given[attribute.name()] = &attribute;
  return given;
}

onnx::NodeProto instantiate(const onnx::NodeProto &node, const Renamed &names,
                            const Attributes &given,
                            const std::string &prefix) {
  onnx::NodeProto copy;
  copy.set_op_type(node.op_type());
  copy.set_domain(node.domain());
  copy.set_overload(node.overload());
  *copy.mutable_metadata_props() = node.metadata_props();
  copy.set_name(prefix + node.name());
  for (const std::string &input : node.input())
    copy.add_input(names.at(input));
  for (const std::string &output : node.output())
    copy.add_output(names.at(output));
  for (const auto &attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *copy.add_attribute() = attribute;
      continue;
    }
    auto it = given.find(attribute.ref_attr_name());
    if (it == given.end())
      continue; // an optional attribute that the caller omits
    auto *added = copy.add_attribute();
    *added = *it->second;
    added->set_name(attribute.name());
  }
  renameInSubgraphs(copy, names);
  return copy;
}

/// Maps formal inputs and outputs to the call's, other names to unused ones.
Renamed namesOf(const onnx::FunctionProto &function,
                const onnx::NodeProto &call, const std::string &prefix,
                const UnusedName &unused) {
  Renamed names{{"", ""}};
  for (int i = 0; i < function.input_size(); ++i)
    names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  for (int i = 0; i < call.output_size(); ++i)
    if (!call.output(i).empty())
      names[function.output(i)] = call.output(i);
  for (const auto &inner : function.node())
    for (const std::string &output : inner.output())
      if (!names.count(output))
        names[output] = unused(prefix + output);
  return names;
}

} // namespace

UnusedName unusedNames(std::set<std::string> &taken) {
  return [&](std::string name) {
    while (!taken.insert(name).second)
      name += "'";
    return name;
  };
}

Result<std::vector<onnx::NodeProto>>
bodyOf(const onnx::FunctionProto &function, const onnx::NodeProto &call,
       const std::string &prefix, const UnusedName &unused, Budget &budget) {
  Key key = keyOf(function.domain(), function.name(), function.overload());
  if (call.input_size() > function.input_size() ||
      call.output_size() > function.output_size())
    return badModel("node '{}': {} inputs and {} outputs, expected at most "
                    "{} and {} for function '{}'",
                    call.name(), call.input_size(), call.output_size(),
                    function.input_size(), function.output_size(), key);
  Renamed names = namesOf(function, call, prefix, unused);
  Attributes given = attributesOf(function, call);
  std::vector<onnx::NodeProto> nodes;
  for (const auto &inner : function.node()) {
    DLC_TRY(checkInputs(inner, names).withContext(key));
    nodes.push_back(instantiate(inner, names, given, prefix));
    // Calls are charged as well: empty functions can call each other 2^64
    // times.
    DLC_TRY(budget.keep(spaceOf(nodes.back()) + kMadeNodeBytes,
                        fmt::format("inlining function '{}'", key)));
  }
  return nodes;
}

namespace {

class Inliner {
public:
  Inliner(onnx::ModelProto &model, Budget &budget)
      : model(model), budget(budget) {}

  Status run() {
    for (const auto &function : model.functions()) {
      Key key = keyOf(function.domain(), function.name(), function.overload());
      if (key == kStopGradient)
        continue;
      if (!functions.emplace(key, &function).second)
        return badModel("function '{}' is defined twice", key);
    }
    DLC_TRY(checkNodes(model.graph().node(), 0, 0));
    if (functions.empty())
      return Status();
    taken = definedIn(model.graph()); // inlined values get other names
    Nodes nodes;
    nodes.Swap(model.mutable_graph()->mutable_node());
    for (auto &node : nodes)
      DLC_TRY(expand(node));
    return Status();
  }

private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  /// Checks everything reachable from `nodes`: subgraphs and called functions.
  Status checkNodes(const Nodes &nodes, int callDepth, int graphDepth) {
    if (graphDepth > kMaxGraphDepth)
      return badModel("graphs are nested deeper than {}", kMaxGraphDepth);
    for (const auto &node : nodes) {
      for (const auto &attribute : node.attribute()) {
        if (attribute.has_g())
          DLC_TRY(checkNodes(attribute.g().node(), callDepth, graphDepth + 1));
        for (const auto &graph : attribute.graphs())
          DLC_TRY(checkNodes(graph.node(), callDepth, graphDepth + 1));
      }
      DLC_TRY(checkCall(node, callDepth, graphDepth));
    }
    return Status();
  }

  Status checkCall(const onnx::NodeProto &node, int callDepth, int graphDepth) {
    auto it = functions.find(keyOf(node));
    if (it == functions.end())
      return Status();
    if (active.count(it->first))
      return badModel("function '{}' calls itself (node '{}')", it->first,
                      node.name());
    if (callDepth >= kMaxCallDepth)
      return badModel("function '{}' is called more than {} calls deep",
                      it->first, kMaxCallDepth);
    // A function already checked at this depth or deeper is skipped.
    auto [seen, first] = checked.emplace(it->first, callDepth);
    if (!first && seen->second >= callDepth)
      return Status();
    seen->second = callDepth;
    DLC_TRY(checkVersions(*it->second));
    active.insert(it->first);
    Status s = checkNodes(it->second->node(), callDepth + 1, graphDepth);
    active.erase(it->first);
    return s;
  }

  Status checkVersions(const onnx::FunctionProto &function) {
    for (const auto &wanted : function.opset_import())
      for (const auto &given : model.opset_import())
        if (wanted.domain() == given.domain() &&
            wanted.version() != given.version())
          return badModel("function '{}' needs opset {} of '{}', the model "
                          "imports {}",
                          function.name(), wanted.version(), wanted.domain(),
                          given.version());
    return Status();
  }

  /// Appends `node`, or the body of the function it calls, to the graph.
  Status expand(onnx::NodeProto &node) {
    auto it = functions.find(keyOf(node));
    if (it == functions.end()) {
      model.mutable_graph()->add_node()->Swap(&node);
      return Status();
    }
    DLC_ASSIGN(auto nodes, bodyOf(*it->second, node,
                                  fmt::format("{}#{}/", node.name(), ++calls),
                                  unusedNames(taken), budget));
    shareConstants(*it->second, node, nodes);
    for (onnx::NodeProto &inner : nodes)
      DLC_TRY(expand(inner));
    return Status();
  }

  /// Float tensors in the function's Constants are shared by all calls, and are
  /// the same weights if layers read them.
  void shareConstants(const onnx::FunctionProto &function,
                      const onnx::NodeProto &call,
                      std::vector<onnx::NodeProto> &nodes) {
    const std::set<std::string> given(call.output().begin(),
                                      call.output().end());
    Renamed renamed;
    std::vector<onnx::NodeProto> kept;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const onnx::NodeProto &inner = function.node(int(i));
      if (!isOfFloats(inner) || given.count(nodes[i].output(0))) {
        kept.push_back(std::move(nodes[i]));
        continue;
      }
      const std::string own = nodes[i].output(0);
      auto [first, isFirst] = shared.emplace(&inner, own);
      if (isFirst)
        kept.push_back(std::move(nodes[i]));
      else
        renamed[own] = first->second;
    }
    if (!renamed.empty())
      for (onnx::NodeProto &inner : kept)
        renameReferences(inner, renamed);
    nodes = std::move(kept);
  }

  /// A Constant whose value is a float tensor in the function itself.
  static bool isOfFloats(const onnx::NodeProto &node) {
    if (node.op_type() != "Constant" || keyOf(node) != "::Constant" ||
        node.output_size() != 1 || node.attribute_size() != 1 ||
        !node.attribute(0).ref_attr_name().empty())
      return false;
    const auto &attribute = node.attribute(0);
    if (attribute.name() == "value_floats")
      return true;
    const auto dtype = toDType(attribute.t().data_type());
    return attribute.name() == "value" && attribute.t().dims_size() > 0 &&
           dtype && isFloat(*dtype);
  }

  onnx::ModelProto &model;
  Budget &budget;
  std::map<Key, const onnx::FunctionProto *> functions;
  std::map<Key, int> checked; // greatest depth at which it was checked
  std::set<Key> active;
  std::set<std::string> taken; // values of the main graph
  std::unordered_map<const onnx::NodeProto *, std::string>
      shared; // Constants of functions -> the first one's output
  size_t calls = 0;
};

} // namespace

Status inlineFunctions(onnx::ModelProto &model, Budget &budget) {
  return Inliner(model, budget).run();
}

} // namespace dlc::import

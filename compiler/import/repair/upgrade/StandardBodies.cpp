// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/upgrade/StandardBodies.h"
#include "compiler/import/repair/upgrade/Upgrade.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <unordered_set>

namespace dlc::import {
namespace {

struct StandardBody {
  std::string_view op, function; // a FunctionProto
};
#include "compiler/import/repair/upgrade/Bodies.inc"

const StandardBody *findBody(const std::string &op) {
  auto at =
      std::find_if(std::begin(kBodies), std::end(kBodies),
                   [&](const StandardBody &body) { return body.op == op; });
  return at == std::end(kBodies) ? nullptr : at;
}

bool isCore(const onnx::NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

/// The node, noted as one of an operator's body.
onnx::NodeProto partOf(onnx::NodeProto node, const std::string &whole) {
  auto *note = node.add_metadata_props();
  note->set_key(kPartOf);
  note->set_value(whole);
  return node;
}

class Modernizer {
public:
  Modernizer(OnnxFile &file,
             const std::function<bool(const std::string &)> &isKnown)
      : file(file), isKnown(isKnown) {
    for (const auto &input : file.model->graph().input())
      taken.insert(input.name());
    for (const auto &tensor : file.model->graph().initializer())
      taken.insert(tensor.name());
    for (const auto *node : file.nodes)
      takeNames(*node);
  }

  Status run() {
    std::vector<const onnx::NodeProto *> old = std::move(file.nodes);
    for (const auto *node : old)
      DLC_TRY(add(*node, file.opset));
    file.nodes = std::move(nodes);
    file.opset = kNewestOpset;
    return {};
  }

private:
  Status add(const onnx::NodeProto &node, int64_t opset) {
    DLC_ASSIGN(auto newer, upgraded(node, opset, unused));
    if (newer.empty())
      return expand(node, opset);
    for (onnx::NodeProto &made : newer)
      DLC_TRY(expand(keep(std::move(made)), opset));
    return {};
  }

  Status expand(const onnx::NodeProto &node, int64_t opset) {
    const StandardBody *body = isCore(node) && !isKnown(node.op_type())
                                   ? findBody(node.op_type())
                                   : nullptr;
    if (!body)
      return addWithGraphs(node, opset);
    onnx::FunctionProto function;
    if (!function.ParseFromString(std::string(body->function)))
      return failed("the standard body of {} does not parse", body->op);
    const std::string &name =
        node.name().empty() ? node.output(0) : node.name();
    DLC_ASSIGN(auto inside,
               bodyOf(function, node, name + "/", unused, file.budget));
    const size_t first = nodes.size();
    for (onnx::NodeProto &inner : inside)
      DLC_TRY(add(keep(std::move(inner)), function.opset_import(0).version()));
    for (size_t i = first; i < nodes.size(); ++i)
      nodes[i] = &keep(partOf(*nodes[i], node.op_type()));
    return {};
  }

  /// The node, its subgraphs' nodes in the new form, too.
  Status addWithGraphs(const onnx::NodeProto &node, int64_t opset) {
    const bool hasGraph =
        std::any_of(node.attribute().begin(), node.attribute().end(),
                    [](const auto &attribute) { return attribute.has_g(); });
    if (!hasGraph) {
      nodes.push_back(&node);
      return {};
    }
    onnx::NodeProto copy = node;
    for (auto &attribute : *copy.mutable_attribute()) {
      if (!attribute.has_g())
        continue;
      auto outside = std::move(nodes);
      nodes.clear();
      onnx::GraphProto old = attribute.g();
      for (const auto &inner : old.node())
        DLC_TRY(add(inner, opset));
      attribute.mutable_g()->clear_node();
      for (const auto *inner : nodes)
        *attribute.mutable_g()->add_node() = *inner;
      nodes = std::move(outside);
    }
    nodes.push_back(&keep(std::move(copy)));
    return {};
  }

  void takeNames(const onnx::NodeProto &node) {
    taken.insert(node.output().begin(), node.output().end());
    for (const auto &attribute : node.attribute())
      for (const auto &inner : attribute.g().node())
        takeNames(inner);
  }

  const onnx::NodeProto &keep(onnx::NodeProto node) {
    file.made.push_back(std::make_shared<onnx::NodeProto>(std::move(node)));
    return *file.made.back();
  }

  OnnxFile &file;
  std::vector<const onnx::NodeProto *> nodes; // the new ones of this graph
  const std::function<bool(const std::string &)> &isKnown;
  std::unordered_set<std::string> taken;
  UnusedName unused = [this](std::string name) {
    while (!taken.insert(name).second)
      name += "'";
    return name;
  };
};

} // namespace

bool hasStandardBody(const std::string &op) { return findBody(op); }

Status modernize(OnnxFile &file,
                 const std::function<bool(const std::string &)> &isKnown) {
  return Modernizer(file, isKnown).run();
}

} // namespace dlc::import

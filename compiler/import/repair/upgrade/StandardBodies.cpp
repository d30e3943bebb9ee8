// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/upgrade/StandardBodies.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/repair/upgrade/Upgrading.h"
#include <algorithm>

namespace dlc::import {
namespace {

struct StandardBody {
  std::string_view op, function; // a FunctionProto
};
#include "compiler/import/repair/upgrade/Bodies.inc"

const StandardBody *findBody(const std::string &op) {
  const auto *at = std::ranges::find(kBodies, op, &StandardBody::op);
  return at == std::end(kBodies) ? nullptr : at;
}

/// The node with the note that it belongs to an operator's body.
onnx::NodeProto partOf(onnx::NodeProto node, const std::string &whole) {
  auto *note = node.add_metadata_props();
  note->set_key(kPartOf);
  note->set_value(whole);
  return node;
}

/// Replaces nodes by others, in order, also in subgraphs. The model is
/// unchanged: new nodes are in file.made.
class Rewriter {
public:
  /// Adds a node, or its replacement.
  using Visit = std::function<Status(Rewriter &, const onnx::NodeProto &)>;

  Rewriter(OnnxFile &file, Visit visit) : file(file), visit(std::move(visit)) {}

  Result<int> run() {
    started = std::move(file.nodes);
    for (const auto *node : started)
      DLC_TRY(visit(*this, *node));
    file.nodes = std::move(nodes);
    return replaced;
  }

  /// Adds the node unchanged, except for its subgraphs.
  Status add(const onnx::NodeProto &node) {
    const bool hasGraph = std::ranges::any_of(
        node.attribute(), [](auto &attribute) { return attribute.has_g(); });
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
        DLC_TRY(visit(*this, inner));
      attribute.mutable_g()->clear_node();
      for (const auto *inner : nodes)
        *attribute.mutable_g()->add_node() = *inner;
      nodes = std::move(outside);
    }
    nodes.push_back(&keep(std::move(copy)));
    return {};
  }
  /// Replaces `node` by `newer`, unless that is empty.
  Status replace(const onnx::NodeProto &node,
                 Result<std::vector<onnx::NodeProto>> newer) {
    DLC_TRY(newer.status());
    if (newer->empty())
      return add(node);
    ++replaced;
    for (onnx::NodeProto &made : *newer)
      DLC_TRY(add(keep(std::move(made))));
    return {};
  }

  /// Adds the nodes of the function that defines `node`.
  Status expand(const onnx::NodeProto &node, const StandardBody &body) {
    ++replaced;
    onnx::FunctionProto function;
    if (!function.ParseFromString(std::string(body.function)))
      return failed("the standard body of {} does not parse", body.op);
    DLC_ASSIGN(auto inside, bodyOf(function, node, nodeLabel(node) + "/",
                                   unused, file.budget));
    const size_t first = nodes.size();
    const int64_t opset = function.opset_import(0).version();
    for (onnx::NodeProto &inner : inside) {
      DLC_ASSIGN(auto newer, upgraded(inner, opset, unused));
      if (newer.empty())
        newer.push_back(std::move(inner));
      for (onnx::NodeProto &made : newer)
        DLC_TRY(visit(*this, keep(std::move(made))));
    }
    for (size_t i = first; i < nodes.size(); ++i)
      nodes[i] = &keep(partOf(*nodes[i], node.op_type()));
    return {};
  }

  OnnxFile &file;
  const UnusedName unused = [this](std::string name) {
    if (taken.empty()) { // done on demand, as few files need it
      taken = definedIn(file.model->graph());
      for (const auto *node : started)
        takeNames(*node);
    }
    return unusedNames(taken)(std::move(name));
  };

private:
  const onnx::NodeProto &keep(onnx::NodeProto node) {
    file.made.push_back(std::make_shared<onnx::NodeProto>(std::move(node)));
    return *file.made.back();
  }
  void takeNames(const onnx::NodeProto &node) {
    taken.insert(node.output().begin(), node.output().end());
    for (const auto &attribute : node.attribute())
      for (const auto &inner : attribute.g().node())
        takeNames(inner);
  }

  const Visit visit;
  std::vector<const onnx::NodeProto *> started, nodes; // of this graph
  int replaced = 0;
  std::set<std::string> taken;
};

} // namespace

bool hasStandardBody(const std::string &op) { return findBody(op); }

Result<int> upgradeNodes(OnnxFile &file) {
  Rewriter upgrade(file, [](Rewriter &to, const onnx::NodeProto &node) {
    return to.replace(node, upgraded(node, to.file.opset, to.unused));
  });
  DLC_ASSIGN(const int replaced, upgrade.run());
  file.opset = kNewestOpset;
  return replaced;
}

Result<int> replaceContrib(OnnxFile &file) {
  return Rewriter(file,
                  [](Rewriter &to, const onnx::NodeProto &node) {
                    return to.replace(node, withoutContrib(node, to.unused));
                  })
      .run();
}

Result<int> placeByMask(OnnxFile &file) {
  ValueFlow flow;
  for (const auto *node : file.nodes)
    flow.add(*node);
  return Rewriter(file,
                  [&](Rewriter &to, const onnx::NodeProto &node) {
                    return to.replace(node,
                                      withoutNonZero(node, flow, to.unused));
                  })
      .run();
}

Result<int>
expandStandardBodies(OnnxFile &file,
                     const std::function<bool(const std::string &)> &isKnown) {
  return Rewriter(file,
                  [&](Rewriter &to, const onnx::NodeProto &node) {
                    const StandardBody *body =
                        isCore(node) && !isKnown(node.op_type())
                            ? findBody(node.op_type())
                            : nullptr;
                    return body ? to.expand(node, *body) : to.add(node);
                  })
      .run();
}

} // namespace dlc::import

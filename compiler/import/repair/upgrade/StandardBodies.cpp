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
  explicit Rewriter(OnnxFile &file) : file(file) {}
  virtual ~Rewriter() = default;

  Result<int> run() {
    started = std::move(file.nodes);
    for (const auto *node : started)
      DLC_TRY(visit(*node));
    file.nodes = std::move(nodes);
    return replaced;
  }

protected:
  /// Adds the node, or its replacement.
  virtual Status visit(const onnx::NodeProto &node) = 0;

  /// Adds the node unchanged, except for its subgraphs.
  Status add(const onnx::NodeProto &node) {
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
        DLC_TRY(visit(inner));
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

  const onnx::NodeProto &keep(onnx::NodeProto node) {
    file.made.push_back(std::make_shared<onnx::NodeProto>(std::move(node)));
    return *file.made.back();
  }

  OnnxFile &file;
  std::vector<const onnx::NodeProto *> nodes; // of this graph, rewritten
  int replaced = 0;
  UnusedName unused = [this](std::string name) {
    if (taken.empty())
      takeNames();
    while (!taken.insert(name).second)
      name += "'";
    return name;
  };

private:
  /// Collects names of all values; done on demand, as few files need it.
  void takeNames() {
    for (const auto &input : file.model->graph().input())
      taken.insert(input.name());
    for (const auto &tensor : file.model->graph().initializer())
      taken.insert(tensor.name());
    for (const auto *node : started)
      takeNames(*node);
  }
  void takeNames(const onnx::NodeProto &node) {
    taken.insert(node.output().begin(), node.output().end());
    for (const auto &attribute : node.attribute())
      for (const auto &inner : attribute.g().node())
        takeNames(inner);
  }

  std::vector<const onnx::NodeProto *> started;
  std::unordered_set<std::string> taken;
};

class Upgrader : public Rewriter {
public:
  using Rewriter::Rewriter;

private:
  Status visit(const onnx::NodeProto &node) override {
    return replace(node, upgraded(node, file.opset, unused));
  }
};

class ContribReplacer : public Rewriter {
public:
  using Rewriter::Rewriter;

private:
  Status visit(const onnx::NodeProto &node) override {
    return replace(node, withoutContrib(node, unused));
  }
};

class BodyExpander : public Rewriter {
public:
  BodyExpander(OnnxFile &file,
               const std::function<bool(const std::string &)> &isKnown)
      : Rewriter(file), isKnown(isKnown) {}

private:
  Status visit(const onnx::NodeProto &node) override {
    const StandardBody *body = isCore(node) && !isKnown(node.op_type())
                                   ? findBody(node.op_type())
                                   : nullptr;
    return body ? expand(node, *body) : add(node);
  }

  Status expand(const onnx::NodeProto &node, const StandardBody &body) {
    ++replaced;
    onnx::FunctionProto function;
    if (!function.ParseFromString(std::string(body.function)))
      return failed("the standard body of {} does not parse", body.op);
    const std::string &name =
        node.name().empty() ? node.output(0) : node.name();
    DLC_ASSIGN(auto inside,
               bodyOf(function, node, name + "/", unused, file.budget));
    const size_t first = nodes.size();
    const int64_t opset = function.opset_import(0).version();
    for (onnx::NodeProto &inner : inside) {
      DLC_ASSIGN(auto newer, upgraded(inner, opset, unused));
      if (newer.empty())
        newer.push_back(std::move(inner));
      for (onnx::NodeProto &made : newer)
        DLC_TRY(visit(keep(std::move(made))));
    }
    for (size_t i = first; i < nodes.size(); ++i)
      nodes[i] = &keep(partOf(*nodes[i], node.op_type()));
    return {};
  }

  const std::function<bool(const std::string &)> &isKnown;
};

} // namespace

bool hasStandardBody(const std::string &op) { return findBody(op); }

Result<int> upgradeNodes(OnnxFile &file) {
  DLC_ASSIGN(const int replaced, Upgrader(file).run());
  file.opset = kNewestOpset;
  return replaced;
}

Result<int> replaceContrib(OnnxFile &file) {
  return ContribReplacer(file).run();
}

Result<int>
expandStandardBodies(OnnxFile &file,
                     const std::function<bool(const std::string &)> &isKnown) {
  return BodyExpander(file, isKnown).run();
}

} // namespace dlc::import

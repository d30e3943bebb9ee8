#include "compiler/import/forms/StandardBodies.h"
#include "compiler/import/forms/Upgrade.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <unordered_set>

namespace dlc::import {
namespace {

struct StandardBody {
  std::string_view op, function; // a FunctionProto
};
#include "compiler/import/forms/Bodies.inc"

const StandardBody *findBody(const std::string &op) {
  auto at =
      std::find_if(std::begin(kBodies), std::end(kBodies),
                   [&](const StandardBody &body) { return body.op == op; });
  return at == std::end(kBodies) ? nullptr : at;
}

bool isCore(const onnx::NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
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
      taken.insert(node->output().begin(), node->output().end());
  }

  Status run() {
    std::vector<const onnx::NodeProto *> old = std::move(file.nodes);
    file.nodes.clear();
    for (const auto *node : old)
      DLC_TRY(add(*node, file.opset));
    file.opset = kNewestOpset;
    return {};
  }

private:
  Status add(const onnx::NodeProto &node, int64_t opset) {
    DLC_ASSIGN(auto newer, upgraded(node, opset, unused));
    if (newer.empty())
      return expand(node);
    for (onnx::NodeProto &made : newer)
      DLC_TRY(expand(keep(std::move(made))));
    return {};
  }

  Status expand(const onnx::NodeProto &node) {
    const StandardBody *body = isCore(node) && !isKnown(node.op_type())
                                   ? findBody(node.op_type())
                                   : nullptr;
    if (!body) {
      file.nodes.push_back(&node);
      return {};
    }
    onnx::FunctionProto function;
    if (!function.ParseFromString(std::string(body->function)))
      return failed("the standard body of {} does not parse", body->op);
    const std::string &name =
        node.name().empty() ? node.output(0) : node.name();
    DLC_ASSIGN(auto nodes,
               bodyOf(function, node, name + "/", unused, file.budget));
    for (onnx::NodeProto &inner : nodes)
      DLC_TRY(add(keep(std::move(inner)), function.opset_import(0).version()));
    return {};
  }

  const onnx::NodeProto &keep(onnx::NodeProto node) {
    file.made.push_back(std::make_shared<onnx::NodeProto>(std::move(node)));
    return *file.made.back();
  }

  OnnxFile &file;
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

#include "compiler/import/GraphCheck.h"
#include "onnx-ml.pb.h"
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {
namespace {

constexpr int kFromOutside = -1;

/// Maps each name of the graph to the node that defines it.
using Definitions = std::unordered_map<std::string, int>;

Result<Definitions> definitions(const onnx::GraphProto &graph) {
  Definitions defined;
  std::unordered_set<std::string> inputs;
  for (const auto &input : graph.input()) {
    if (input.name().empty())
      return badModel("a graph input has no name");
    if (!inputs.insert(input.name()).second)
      return badModel("graph input '{}' is declared twice", input.name());
    defined[input.name()] = kFromOutside;
  }
  std::unordered_set<std::string> initializers;
  for (const auto &tensor : graph.initializer()) {
    if (tensor.name().empty())
      return badModel("an initializer has no name");
    if (!initializers.insert(tensor.name()).second)
      return badModel("initializer '{}' is defined twice", tensor.name());
    defined[tensor.name()] = kFromOutside;
  }
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &output : graph.node(i).output())
      if (!output.empty() && !defined.emplace(output, i).second)
        return badModel("{}: output '{}' is already defined",
                        describe(graph.node(i)), output);
  return defined;
}

/// The nodes that are still waiting: they are on a cycle or behind one.
Status cycleError(const onnx::GraphProto &graph,
                  const std::vector<int> &waiting) {
  std::string names;
  int shown = 0;
  for (int i = 0; i < graph.node_size(); ++i)
    if (waiting[i] > 0 && shown++ < 8)
      names += (shown == 1 ? "" : ", ") + describe(graph.node(i));
  if (shown > 8)
    names += fmt::format(" and {} more", shown - 8);
  return badModel("the graph has a cycle: {}", names);
}

} // namespace

std::string describe(const onnx::NodeProto &node) {
  std::string op = node.domain().empty() ? node.op_type()
                                         : node.domain() + "." + node.op_type();
  if (!node.name().empty())
    return fmt::format("node '{}' ({})", node.name(), op);
  return fmt::format("node {} -> '{}'", op,
                     node.output_size() ? node.output(0) : "");
}

Result<std::vector<const onnx::NodeProto *>>
sortedNodes(const onnx::GraphProto &graph) {
  DLC_ASSIGN(auto defined, definitions(graph));
  int count = graph.node_size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> users(count);
  for (int i = 0; i < count; ++i)
    for (const std::string &input : graph.node(i).input()) {
      if (input.empty())
        continue;
      auto it = defined.find(input);
      if (it == defined.end())
        return badModel("{}: input '{}' is not defined by any node, input or "
                        "initializer",
                        describe(graph.node(i)), input);
      if (it->second == kFromOutside)
        continue;
      users[it->second].push_back(i);
      ++waiting[i];
    }
  if (graph.output().empty())
    return badModel("the graph has no outputs");
  for (const auto &output : graph.output())
    if (!defined.count(output.name()))
      return badModel("graph output '{}' is not defined", output.name());

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

} // namespace dlc::import

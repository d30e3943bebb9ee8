// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/compare/TensorPairs.h"

#include "runtime/exec/reduce/Collectives.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/graph/Commands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace dlc {
namespace {

struct LabelledResult {
  ResultPlace place;
  std::string label; // node names
  std::string operation;
  std::string like; // side of the loss, dimensions
};

std::vector<LabelledResult> resultsOf(const plan::Plan &plan,
                                      const plan::Program &program) {
  const int loss = plan::findLossCommand(program);
  std::vector<LabelledResult> results;
  for (int i = 0; i < program.commands_size(); ++i) {
    const plan::Command &command = program.commands(i);
    if (CollectiveBinder::binds(command.kind()) || command.label().empty() ||
        plan::copiesBesideCommands(command))
      continue;
    for (int k = 0; k < command.outputs_size(); ++k) {
      const plan::Buffer &buffer =
          program.buffers(static_cast<int>(command.outputs(k)));
      const plan::TensorType &type = buffer.type();
      if (!plan::isFloating(type) ||
          plan.regions(static_cast<int>(buffer.region())).kind() ==
              plan::Region::STATE)
        continue;
      std::vector<int64_t> dims(type.shape().begin(), type.shape().end());
      std::sort(dims.begin(), dims.end());
      results.push_back(
          {{i, k},
           command.label(),
           plan::operationOf(command),
           fmt::format("\n{} {}", i > loss, fmt::join(dims, " "))});
    }
  }
  return results;
}

struct SameLabel {
  std::vector<ResultPlace> places;
  std::vector<std::string> operations;
};

std::map<std::string, SameLabel>
byLabel(const std::vector<LabelledResult> &results) {
  std::map<std::string, SameLabel> groups;
  for (const LabelledResult &result : results) {
    SameLabel &group = groups[result.label + result.like];
    group.places.push_back(result.place);
    group.operations.push_back(result.operation);
  }
  return groups;
}

} // namespace

std::vector<std::string> nodesOfLabel(const std::string &label) {
  std::vector<std::string> nodes;
  for (size_t begin = 0; begin <= label.size();) {
    const size_t end = std::min(label.find("; ", begin), label.size());
    nodes.push_back(label.substr(begin, end - begin));
    begin = end + 2;
  }
  return nodes;
}

ResultPairs pairResults(const plan::Plan &planA, const plan::Program &a,
                        const plan::Plan &planB, const plan::Program &b) {
  const std::vector<LabelledResult> all[] = {resultsOf(planA, a),
                                             resultsOf(planB, b)};
  const std::map<std::string, SameLabel> labelled[] = {byLabel(all[0]),
                                                       byLabel(all[1])};
  ResultPairs result;
  result.resultsA = static_cast<int>(all[0].size());
  result.resultsB = static_cast<int>(all[1].size());
  auto isCertain = [&](const std::string &key) {
    const auto x = labelled[0].find(key), y = labelled[1].find(key);
    return x != labelled[0].end() && y != labelled[1].end() &&
           x->second.operations == y->second.operations;
  };
  for (const auto &[key, group] : labelled[0])
    for (size_t i = 0; isCertain(key) && i < group.places.size(); ++i)
      result.certain.push_back(
          {group.places[i], labelled[1].at(key).places[i]});
  std::sort(result.certain.begin(), result.certain.end(),
            [](const ResultPair &x, const ResultPair &y) { return x.a < y.a; });

  std::map<std::string, std::vector<ResultPlace>>
      byNode; // of uncertain results of a
  for (const LabelledResult &one : all[0])
    if (!isCertain(one.label + one.like))
      for (const std::string &node : nodesOfLabel(one.label))
        byNode[node + one.like].push_back(one.place);
  for (const LabelledResult &one : all[1]) {
    if (isCertain(one.label + one.like))
      continue;
    std::set<ResultPlace> candidates;
    for (const std::string &node : nodesOfLabel(one.label))
      if (const auto found = byNode.find(node + one.like);
          found != byNode.end())
        candidates.insert(found->second.begin(), found->second.end());
    if (!candidates.empty())
      result.possible[one.place] = {candidates.begin(), candidates.end()};
  }
  return result;
}

} // namespace dlc

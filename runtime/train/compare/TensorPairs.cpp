// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/compare/TensorPairs.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/exec/reduce/Collectives.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/graph/Commands.h"
#include "runtime/train/compare/CompareSteps.h"
#include "runtime/train/compare/ResultProbes.h"

#include <algorithm>
#include <deque>
#include <fmt/ranges.h>
#include <numeric>
#include <set>

namespace dlc {
namespace {

template <class Shape> std::vector<int64_t> sortedDims(const Shape &shape) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  std::ranges::sort(dims);
  return dims;
}

class NodePairing {
public:
  NodePairing(const plan::Program &program,
              const std::vector<NodeResult> &results)
      : program_(program), results_(results) {
    for (size_t i = 0; i < results.size(); ++i) {
      byNode_[results[i].node].push_back(i);
      byTensor_[results[i].tensor] = i;
    }
    for (const plan::Port &port : program.outputs())
      outputs_[port.buffer()] = port.name();
  }

  // Pairs the program's results with numbers of reference results.
  ResultPairs pairs() {
    ResultPairs pairs;
    pairs.resultsA = int(results_.size());
    std::map<size_t, ResultPlace> last; // by reference result
    for (int i = 0; i < program_.commands_size(); ++i)
      for (int k = 0; k < program_.commands(i).outputs_size(); ++k) {
        const uint32_t buffer = program_.commands(i).outputs(k);
        const plan::TensorType &type = program_.buffers(int(buffer)).type();
        if (!plan::isFloating(type))
          continue;
        ++pairs.resultsB;
        if (const auto found = find(program_.commands(i), buffer, type))
          last[*found] = {i, k};
      }
    for (const auto &[result, place] : last)
      pairs.certain.push_back({{int(result), 0}, place});
    return pairs;
  }

private:
  std::optional<size_t> find(const plan::Command &command, uint32_t buffer,
                             const plan::TensorType &type) const {
    const std::vector<int64_t> dims = sortedDims(type.shape());
    const auto fits = [&](size_t result) {
      return sortedDims(results_[result].values.shape) == dims;
    };
    if (const auto port = outputs_.find(buffer); port != outputs_.end())
      if (const auto at = byTensor_.find(port->second);
          at != byTensor_.end() && fits(at->second))
        return at->second;
    std::optional<size_t> latest;
    for (const std::string &node : nodesOfLabel(command.label()))
      if (const auto at = byNode_.find(node); at != byNode_.end())
        for (const size_t result : at->second)
          if (fits(result) && (!latest || result > *latest))
            latest = result;
    return latest;
  }

  const plan::Program &program_;
  const std::vector<NodeResult> &results_;
  std::map<std::string, std::vector<size_t>> byNode_;
  std::map<std::string, size_t> byTensor_;
  std::map<uint32_t, std::string> outputs_;
};

// Reference results in the form of a program's results.
class KeptNodes {
public:
  explicit KeptNodes(std::vector<NodeResult> &results) {
    for (size_t i = 0; i < results.size(); ++i) {
      commands_.emplace_back().set_kind(results[i].operation);
      plan::TensorType type;
      type.set_dtype(plan::F32);
      for (const int64_t dim : results[i].values.shape)
        type.add_shape(dim);
      const double epsilon = epsilonOf(type);
      kept[{int(i), 0}] = {&commands_.back(),
                           std::move(type),
                           std::move(results[i].values),
                           {epsilon, 0}};
    }
  }

  KeptResults kept;

private:
  std::deque<plan::Command> commands_;
};

Result<StepsComparison> compareNodes(Session &session, const Dataset &data,
                                     const CompareOptions &options,
                                     const NodeReference &reference) {
  const int size = sizeOf(session.plan(), "predict", data);
  const plan::Program *program =
      plan::findProgram(session.plan(), "predict", size);
  const int64_t batch = plan::batchOf(session.plan(), size);
  Batch values = makeBatch(data, batch);
  std::vector<int64_t> rows(static_cast<size_t>(batch));
  std::iota(rows.begin(), rows.end(), int64_t(0));
  StepsComparison result;
  for (int64_t step = 1; step <= options.steps && !result.first(); ++step) {
    for (int64_t &row : rows)
      row %= data.samples();
    DLC_TRY(fillBatch(data, rows, nullptr, values));
    DLC_ASSIGN(std::vector<NodeResult> results, reference(*program, values));
    const ResultPairs pairs = NodePairing(*program, results).pairs();
    if (pairs.certain.empty())
      return usageError("no result of 'predict' belongs to a node of the "
                        "reference: is it the same model?");
    result.resultsA = pairs.resultsA, result.resultsB = pairs.resultsB;
    const KeptNodes nodes(results);
    ResultComparer comparer(pairs, nodes.kept, *program, 1, options);
    DLC_TRY(setInputs(session.executor(), *program, values));
    DLC_TRY(session.executor().run(program->name(), &comparer));
    result.steps.push_back({step, std::nullopt, comparer.tensors()});
    for (int64_t &row : rows)
      row += batch;
  }
  return result;
}

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
      const plan::Buffer &buffer = program.buffers(int(command.outputs(k)));
      const plan::TensorType &type = buffer.type();
      if (!plan::isFloating(type) ||
          plan.regions(int(buffer.region())).kind() == plan::Region::STATE)
        continue;
      std::vector<int64_t> dims(type.shape().begin(), type.shape().end());
      std::ranges::sort(dims);
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
  result.resultsA = int(all[0].size());
  result.resultsB = int(all[1].size());
  auto isCertain = [&](const std::string &key) {
    const auto x = labelled[0].find(key), y = labelled[1].find(key);
    return x != labelled[0].end() && y != labelled[1].end() &&
           x->second.operations == y->second.operations;
  };
  for (const auto &[key, group] : labelled[0])
    for (size_t i = 0; isCertain(key) && i < group.places.size(); ++i)
      result.certain.push_back(
          {group.places[i], labelled[1].at(key).places[i]});
  std::ranges::sort(result.certain, {}, &ResultPair::a);

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

Result<StepsComparison> compareWithNodes(Session &session, const Dataset &data,
                                         const CompareOptions &options,
                                         const NodeReference &reference) try {
  return compareNodes(session, data, options, reference);
} catch (...) {
  return caughtException("comparing");
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/compare/NodeResults.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/plan/graph/Commands.h"
#include "runtime/train/compare/ResultProbes.h"

#include <algorithm>
#include <deque>
#include <numeric>

namespace dlc {
namespace {

template <class Shape> std::vector<int64_t> sortedDims(const Shape &shape) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  std::sort(dims.begin(), dims.end());
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
    pairs.resultsA = static_cast<int>(results_.size());
    std::map<size_t, ResultPlace> last; // by reference result
    for (int i = 0; i < program_.commands_size(); ++i)
      for (int k = 0; k < program_.commands(i).outputs_size(); ++k) {
        const uint32_t buffer = program_.commands(i).outputs(k);
        const plan::TensorType &type =
            program_.buffers(static_cast<int>(buffer)).type();
        if (!plan::isFloating(type))
          continue;
        ++pairs.resultsB;
        if (const auto found = find(program_.commands(i), buffer, type))
          last[*found] = {i, k};
      }
    for (const auto &[result, place] : last)
      pairs.certain.push_back({{static_cast<int>(result), 0}, place});
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
      kept[{static_cast<int>(i), 0}] = {&commands_.back(),
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

} // namespace

Result<StepsComparison> compareWithNodes(Session &session, const Dataset &data,
                                         const CompareOptions &options,
                                         const NodeReference &reference) try {
  return compareNodes(session, data, options, reference);
} catch (...) {
  return caughtException("comparing");
}

} // namespace dlc

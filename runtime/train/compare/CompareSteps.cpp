// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/compare/CompareSteps.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/train/compare/ComparedStates.h"
#include "runtime/train/compare/ResultProbes.h"

#include <algorithm>

namespace dlc {
namespace {

// One of the two models, with its samples in the order of the data set.
class ComparedSide {
public:
  ComparedSide(Session &session, const Dataset &data, std::string kind)
      : session_(session), data_(data), kind_(std::move(kind)) {}

  Session &session() { return session_; }
  Result<const plan::Program *> program(bool isLast) {
    return isTraining() ? session_.nextStep(size(), isLast)
                        : plan::findProgram(session_.plan(), kind_, size());
  }
  int64_t batch() const { return plan::batchOf(session_.plan(), size()); }
  int size() const { return sizeOf(session_.plan(), kind_, data_); }

  // Runs micro-batch `number`, from 0; samples repeat after the last. Returns
  // its loss, if the program has one.
  Result<std::optional<double>> run(const plan::Program &program,
                                    int64_t number, Probe &probe) {
    std::vector<int64_t> rows(static_cast<size_t>(batch()));
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = (number * batch() + int64_t(i)) % data_.samples();
    resizeBatch(data_, batch(), values_);
    DLC_TRY(fillBatch(data_, rows, nullptr, values_));
    if (!isTraining()) {
      DLC_TRY(setInputs(session_.executor(), program, values_));
      DLC_TRY(session_.executor().run(program.name(), &probe));
      return std::optional<double>();
    }
    DLC_ASSIGN(const std::span<const double> metrics,
               session_.trainStep(values_, &probe, size()));
    for (size_t i = 0; i < metrics.size(); ++i)
      if (session_.metricNames()[i] == "loss")
        return std::optional(metrics[i]);
    return std::optional<double>();
  }
  bool isTraining() const { return kind_ == "train_step"; }
  int64_t window() const { return isTraining() ? session_.window() : 1; }

private:
  Session &session_;
  const Dataset &data_;
  const std::string kind_;
  Batch values_;
};

Status checkSides(const ComparedSide &a, const ComparedSide &b) {
  if (a.batch() != b.batch())
    return usageError("the models take {} and {} samples at a time: compile "
                      "both with the same --batch",
                      a.batch(), b.batch());
  if (a.window() != b.window())
    return usageError("the models have {} and {} micro-batches in an update: "
                      "compile both with the same --accumulate",
                      a.window(), b.window());
  return {};
}

// The loss scale; 1 without a scaler.
Result<double> lossScaleOf(Executor &executor) {
  std::vector<std::byte> copy;
  for (const plan::State &state : executor.plan().states())
    if (state.name().starts_with("scaler.scale")) {
      DLC_ASSIGN(const TensorView view,
                 executor.fetchState(state.name(), copy));
      return scalarOf(view);
    }
  return 1.0;
}

class Comparer {
public:
  Comparer(ComparedSide &a, ComparedSide &b, const CompareOptions &options)
      : a_(a), b_(b), options_(options) {}

  Result<StepsComparison> run() {
    DLC_TRY(checkSides(a_, b_));
    StepsComparison result;
    ComparedStates states(a_.session().executor(), b_.session().executor(),
                          options_);
    for (int64_t step = 1; step <= options_.steps && !result.first(); ++step) {
      DLC_ASSIGN(std::vector<std::string> differing, states.begin());
      if (step == 1)
        result.states = std::move(differing);
      result.steps.emplace_back().step = step;
      for (int64_t i = 0; i < a_.window(); ++i)
        DLC_TRY(compareMicroBatch((step - 1) * a_.window() + i,
                                  i + 1 == a_.window(), result));
      if (a_.isTraining())
        DLC_TRY(states.compare(result.steps.back().tensors));
    }
    return result;
  }

private:
  Status compareMicroBatch(int64_t number, bool isLast,
                           StepsComparison &result) {
    const std::string kind = isLast ? options_.program : "accumulate_step";
    DLC_ASSIGN(const plan::Program *const a, a_.program(isLast));
    DLC_ASSIGN(const plan::Program *const b, b_.program(isLast));
    if (!a || !b)
      return usageError("{} model has no program '{}'",
                        a ? "the second" : "the first", kind);
    const ResultPairs pairs =
        pairResults(a_.session().plan(), *a, b_.session().plan(), *b);
    if (pairs.certain.empty() && pairs.possible.empty())
      return usageError(
          "no result of '{}' is in both artifacts: are they of one model?",
          kind);
    if (isLast) {
      result.resultsA = pairs.resultsA;
      result.resultsB = pairs.resultsB;
    }
    DLC_ASSIGN(const double lossScaleA, lossScaleOf(a_.session().executor()));
    DLC_ASSIGN(const double lossScaleB, lossScaleOf(b_.session().executor()));
    ResultKeeper keeper(pairs, kept_);
    ComparedStep &step = result.steps.back();
    DLC_ASSIGN(const auto lossA, a_.run(*a, number, keeper));
    ResultComparer comparer(pairs, kept_, *b, lossScaleB / lossScaleA,
                            options_);
    DLC_ASSIGN(const auto lossB, b_.run(*b, number, comparer));
    if (options_.drift && lossA && lossB)
      step.losses = std::pair(*lossA, *lossB);
    for (ComparedTensor &tensor : comparer.tensors())
      step.tensors.push_back(std::move(tensor));
    return {};
  }

  ComparedSide &a_, &b_;
  const CompareOptions &options_;
  KeptResults kept_;
};

} // namespace

const ComparedTensor *StepsComparison::first() const {
  if (steps.empty())
    return nullptr;
  const auto &tensors = steps.back().tensors;
  const auto found = std::ranges::find_if(
      tensors, [](const ComparedTensor &t) { return t.differs(); });
  return found == tensors.end() ? nullptr : &*found;
}

Result<StepsComparison> compareSteps(Session &a, Session &b,
                                     const Dataset &dataA, const Dataset &dataB,
                                     const CompareOptions &options) try {
  ComparedSide first(a, dataA, options.program),
      second(b, dataB, options.program);
  return Comparer(first, second, options).run();
} catch (...) {
  return caughtException("comparing");
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Two models step by step, until a tensor of one differs from the other's.
#pragma once

#include "runtime/train/compare/TensorPairs.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/Session.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlc {

struct CompareOptions {
  std::string program = "train_step"; // or eval_step, predict
  int64_t steps = 1; // at most: it ends with the first that differs
  // The largest relative error (Closeness::error) of a tensor. None: by the
  // lowest precision that takes part in it, 1e-4 of f32, 1e-3 of f16, 6e-3 of
  // bf16: some roundings of one operation.
  std::optional<double> tolerance;
  // Every tensor is compared as A's tensors make it: after each result of B
  // that has a partner, B goes on with A's values (and so it does with A's
  // state before each step), so that an error is that of the commands since
  // the last results that were compared. Else differences add up.
  bool drift = false;
};

struct ComparedTensor {
  // Of a result the ONNX nodes and what computed it (plan::operationOf); of a
  // state, which is compared after the update, its name and role: parameters by
  // how far they moved.
  std::string name, operationA, operationB;
  enum class Phase { Forward, Backward, Update } phase = Phase::Forward;
  plan::TensorType typeA, typeB;
  double error = 0, tolerance = 0;
  std::vector<int64_t> at; // of b, where the difference is largest
  double a = 0, b = 0;     // there
  bool isNoise = false; // a's values cancel to what rounding leaves: not judged
  bool differs() const { return !isNoise && !(error <= tolerance); }
};

struct ComparedStep {
  int64_t step = 0;                                // the first is 1
  std::optional<std::pair<double, double>> losses; // of training that drifts
  std::vector<ComparedTensor> tensors;             // in the order of a
};

struct StepsComparison {
  // Names of states in which both began differently; with `drift` they stay so.
  std::vector<std::string> states;
  int resultsA = 0, resultsB = 0;      // of floats, of one program
  std::vector<ComparedStep> steps;     // all but the last agree
  const ComparedTensor *first() const; // that differs; null: none
};

// The same samples, in their order, for both: a data set each, since inputs may
// have types of their own. The sessions' state moves as by training. Usage if
// the programs do not take as many samples and micro-batches a step, are
// missing, or have no result in common.
Result<StepsComparison> compareSteps(Session &a, Session &b,
                                     const Dataset &dataA, const Dataset &dataB,
                                     const CompareOptions &options);

} // namespace dlc

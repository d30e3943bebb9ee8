// SPDX-License-Identifier: Apache-2.0
// Runs two models step by step until one of their tensors differs.
#pragma once

#include "runtime/train/compare/Closeness.h"
#include "runtime/train/compare/TensorPairs.h"
#include "runtime/train/session/Session.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlc {

struct CompareOptions {
  std::string program = "train_step"; // or eval_step, predict
  int64_t steps = 1; // at most; ends with the first that differs
  // Largest accepted relative error (Closeness::error) of a tensor. By default
  // it depends on the lowest precision involved: 1e-4 for f32, 1e-3 for f16,
  // 6e-3 for bf16, which is several roundings of one operation.
  std::optional<double> tolerance;
  // If false, B continues with A's values after each result of B that has a
  // counterpart (and with A's state before each step), so that an error is that
  // of the commands since the last compared results. If true, differences
  // accumulate.
  bool drift = false;
};

struct ComparedTensor {
  // For a result the ONNX nodes and the operations that computed it
  // (plan::operationOf); for a state, which is compared after the update, its
  // name and role. Parameters are compared by their change.
  std::string name, operationA, operationB;
  enum class Phase { Forward, Backward, Update } phase = Phase::Forward;
  plan::TensorType typeA, typeB;
  double error = 0, tolerance = 0;
  std::vector<int64_t> at; // index in b of the largest difference
  double a = 0, b = 0;     // values there
  bool isNoise = false;    // a is rounding noise after cancellation: not judged
  bool differs() const { return !isNoise && !(error <= tolerance); }
};

struct ComparedStep {
  int64_t step = 0;                                // the first is 1
  std::optional<std::pair<double, double>> losses; // of training with `drift`
  std::vector<ComparedTensor> tensors;             // in the order of a
};

struct StepsComparison {
  // Names of states with different initial values; with `drift` they are kept.
  std::vector<std::string> states;
  int resultsA = 0, resultsB = 0;      // floating-point results of one program
  std::vector<ComparedStep> steps;     // all but the last agree
  const ComparedTensor *first() const; // that differs, or null
};

// Both models get the same samples in the same order; each has a data set,
// since input types may differ. The sessions' states change as in training.
// Code::Usage if the programs are missing, take different numbers of samples or
// micro-batches per step, or have no common result.
Result<StepsComparison> compareSteps(Session &a, Session &b,
                                     const Dataset &dataA, const Dataset &dataB,
                                     const CompareOptions &options);

// A floating-point result of a node of the ONNX model.
struct NodeResult {
  std::string node;      // as in labels of commands
  std::string operation; // "Conv"
  std::string tensor;    // its name in the model
  WideTensor values;
};

// Computes all node results for a batch (arrays in order of the program's
// inputs), in the order of the model's nodes.
using NodeReference = std::function<Result<std::vector<NodeResult>>(
    const plan::Program &program, const Batch &batch)>;

// Like compareSteps(), with the reference as A and `predict` as the program. A
// node's result is compared with that of the last command whose label ends with
// this node; results inside of fused commands, and parts of a node's result,
// are not compared. Unless options.drift is set, the program continues with the
// reference's values.
Result<StepsComparison> compareWithNodes(Session &session, const Dataset &data,
                                         const CompareOptions &options,
                                         const NodeReference &reference);

} // namespace dlc

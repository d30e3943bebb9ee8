// SPDX-License-Identifier: Apache-2.0
// Compares the states of two models before and after an update.
#pragma once

#include "runtime/exec/Executor.h"
#include "runtime/train/compare/Closeness.h"
#include "runtime/train/compare/CompareSteps.h"

#include <map>

namespace dlc {

// States that both models have by name. The executors must outlive it.
class ComparedStates {
public:
  ComparedStates(Executor &a, Executor &b, const CompareOptions &options)
      : a_(a), b_(b), options_(options) {}

  // Before a step: returns the names of states that differ, and copies A's to B
  // unless `drift` is set.
  Result<std::vector<std::string>> begin();
  // After it: appends the changes of parameters, buffers, moments and averages.
  // Their tolerance is the largest of any result in `tensors`.
  Status compare(std::vector<ComparedTensor> &tensors);

private:
  struct Sides {
    WideTensor a, b;
    const plan::TensorType *typeA, *typeB;
  };
  Result<Sides> fetch(const std::string &name);
  Status compareOne(const plan::State &state,
                    std::vector<ComparedTensor> &tensors);

  Executor &a_, &b_;
  const CompareOptions &options_;
  // Values in A and B before the step.
  std::map<std::string, std::pair<WideTensor, WideTensor>> before_;
  double tolerance_ = 0;
  std::vector<std::byte> copyA_, copyB_;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// The states of two models before and after an update.
#pragma once

#include "runtime/exec/Executor.h"
#include "runtime/train/compare/Closeness.h"
#include "runtime/train/compare/CompareSteps.h"

#include <map>

namespace dlc {

// Of those that both have by a name. The executors must outlive it.
class ComparedStates {
public:
  ComparedStates(Executor &a, Executor &b, const CompareOptions &options)
      : a_(a), b_(b), options_(options) {}

  // Before a step: the names of those that differ, of which B gets A's unless
  // it may drift.
  Result<std::vector<std::string>> begin();
  // After it: adds what parameters, buffers, moments and averages have become.
  // They may differ as far as any of the results that are in `tensors`.
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
  // Parameters of A and B before the step.
  std::map<std::string, std::pair<WideTensor, WideTensor>> before_;
  double tolerance_ = 0;
  std::vector<std::byte> copyA_, copyB_;
};

} // namespace dlc

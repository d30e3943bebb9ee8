// SPDX-License-Identifier: Apache-2.0
// Evaluates ONNX ops on values known at import time, which folds shape
// arithmetic, masks and constants.
#pragma once
#include "compiler/import/file/NodeView.h"
#include "compiler/import/tensor/HostTensor.h"
#include <functional>
#include <map>

namespace dlc::import {

/// A call of a host op: its node, its inputs (null if omitted) and the budget
/// for allocations.
struct HostCall {
  const NodeView &node;
  std::vector<const HostTensor *> inputs;
  Budget &budget;

  const HostTensor *input(size_t index) const {
    return index < inputs.size() ? inputs[index] : nullptr;
  }
  /// A zero-initialized tensor; an error if its bytes, or the work to fill it,
  /// exceed the budget.
  Result<HostTensor> make(DType dtype, const Shape &shape);
  /// Charges a loop over `elements` other than those of a `make`.
  Status work(int64_t elements) const {
    return budget.work(uint64_t(elements), "folding a value");
  }
  /// An error if one of the first `count` inputs is missing.
  Status require(size_t count) const;
};

using HostResults = Result<std::vector<HostTensor>>;
inline HostResults one(HostTensor tensor) {
  std::vector<HostTensor> results;
  results.push_back(std::move(tensor));
  return results;
}

struct HostOp {
  size_t inputs = 0; // that must be present
  std::function<HostResults(HostCall &)> run;
};
using HostOps = std::map<std::string, HostOp>;

/// Arithmetic, comparison, logic, Cast, reductions, CumSum, MelWeightMatrix.
void addHostMath(HostOps &ops);
/// Constant, ConstantOfShape, Range and all ops that move elements.
void addHostMovement(HostOps &ops);
/// NonZero, OneHot.
void addHostIndex(HostOps &ops);

/// Input 0 cast to an ONNX type.
HostResults castTo(HostCall &call, int onnxType);

/// One per import; not thread-safe.
class HostEvaluator {
public:
  /// Results are charged to `budget` until their last copy is destroyed.
  explicit HostEvaluator(Budget budget);
  bool knows(const std::string &opType) const { return ops.count(opType); }
  HostResults evaluate(const NodeView &node,
                       std::vector<const HostTensor *> inputs);

private:
  HostOps ops;
  Budget budget;
};

} // namespace dlc::import

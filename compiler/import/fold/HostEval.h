// SPDX-License-Identifier: Apache-2.0
// Evaluates ONNX ops on values known at import time, so that shape arithmetic,
// masks and constants fold away.
#pragma once
#include "compiler/import/file/NodeView.h"
#include "compiler/import/tensor/HostTensor.h"
#include <functional>
#include <map>

namespace dlc::import {

/// What a host op sees: its node, its inputs (null where left out) and the
/// only way to allocate.
struct HostCall {
  const NodeView &node;
  std::vector<const HostTensor *> inputs;
  Budget &budget;

  const HostTensor *input(size_t index) const {
    return index < inputs.size() ? inputs[index] : nullptr;
  }
  /// A zeroed tensor; an error when it, or the work to fill it, would pass the
  /// budget.
  Result<HostTensor> make(DType dtype, const Shape &shape);
  /// Before a loop over `elements` that are not those of a `make`.
  Status work(int64_t elements) const {
    return budget.work(uint64_t(elements), "folding a value");
  }
  /// A required input, or an error that says which is missing.
  Status require(size_t count) const;
};

using HostResults = Result<std::vector<HostTensor>>;
using HostOp = std::function<HostResults(HostCall &)>;
using HostOps = std::map<std::string, HostOp>;

/// Arithmetic, comparison, logic, Cast, reductions, MelWeightMatrix.
void addHostMath(HostOps &ops);
/// Constant, ConstantOfShape, Range and everything that moves elements.
void addHostMovement(HostOps &ops);
/// NonZero, OneHot, Unique, NonMaxSuppression.
void addHostIndex(HostOps &ops);

/// Input 0 as the ONNX type.
HostResults castTo(HostCall &call, int onnxType);

/// Not thread-safe; one per import.
class HostEvaluator {
public:
  /// Results hold their bytes of `budget` until the last copy is gone.
  explicit HostEvaluator(Budget budget);
  bool knows(const std::string &opType) const { return ops.count(opType); }
  HostResults evaluate(const NodeView &node,
                       std::vector<const HostTensor *> inputs);

private:
  HostOps ops;
  Budget budget;
};

} // namespace dlc::import

// Evaluates ONNX ops on values known at import time, so that shape arithmetic,
// masks and constants fold away.
#pragma once
#include "compiler/import/HostTensor.h"
#include "compiler/import/NodeView.h"
#include <map>

namespace dlc::import {

/// What a host op sees: its node, its inputs (null where left out) and the
/// only way to allocate.
struct HostCall {
  const NodeView &node;
  std::vector<const HostTensor *> inputs;
  size_t &budget; // bytes that may still be allocated

  const HostTensor *input(size_t index) const {
    return index < inputs.size() ? inputs[index] : nullptr;
  }
  /// A zeroed tensor; an error when it would pass the budget.
  Result<HostTensor> make(DType dtype, const Shape &shape);
  /// A required input, or an error that says which is missing.
  Status require(size_t count) const;
};

using HostResults = Result<std::vector<HostTensor>>;
using HostOp = HostResults (*)(HostCall &);
using HostOps = std::map<std::string, HostOp>;

/// Arithmetic, comparison, logic, Cast, reductions.
void addHostMath(HostOps &ops);
/// Constant, ConstantOfShape, Range and everything that moves elements.
void addHostMovement(HostOps &ops);

/// Not thread-safe; one per import.
class HostEvaluator {
public:
  /// `budget`: bytes that all results together may take.
  explicit HostEvaluator(size_t budget);
  bool knows(const std::string &opType) const { return ops.count(opType); }
  HostResults evaluate(const NodeView &node,
                       std::vector<const HostTensor *> inputs);
  /// Gives the space of a result that is no longer needed back to the budget.
  void release(const HostTensor &result) {
    budget += result.elements() * sizeof(double);
  }

private:
  HostOps ops;
  size_t budget;
};

} // namespace dlc::import

// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/fold/HostEval.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

Result<HostTensor> HostCall::make(DType dtype, const Shape &shape) {
  DLC_ASSIGN(auto count, countElements(shape, "a folded value"));
  std::string what =
      fmt::format("folding a value of shape {}", toString(shape));
  DLC_ASSIGN(Lease lease, budget.take(HostTensor::bytesOf(count), what));
  DLC_TRY(budget.work(uint64_t(count), what));
  return HostTensor(dtype, shape, std::move(lease));
}

Status HostCall::require(size_t count) const {
  for (size_t i = 0; i < count; ++i)
    if (!input(i))
      return badModel("input {} is missing", i);
  return Status();
}

HostEvaluator::HostEvaluator(Budget given) : budget(std::move(given)) {
  addHostMath(ops);
  addHostMovement(ops);
  addHostIndex(ops);
}

HostResults HostEvaluator::evaluate(const NodeView &node,
                                    std::vector<const HostTensor *> inputs) {
  HostCall call{node, std::move(inputs), budget};
  const HostOp &op = ops.at(node.proto.op_type());
  DLC_TRY(call.require(op.inputs));
  auto results = op.run(call);
  if (results.ok() && !node.problem().ok())
    return node.problem();
  return results;
}

} // namespace dlc::import

#include "compiler/import/HostEval.h"
#include "compiler/import/TensorData.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

Result<HostTensor> HostCall::make(DType dtype, const Shape &shape) {
  DLC_ASSIGN(auto count, countElements(shape, "a folded value"));
  size_t bytes = static_cast<size_t>(count) * sizeof(double);
  if (bytes > budget)
    return badModel("folding a value of shape {} needs {} bytes, {} are left "
                    "of the import's budget",
                    toString(shape), bytes, budget);
  budget -= bytes;
  return HostTensor(dtype, shape);
}

Status HostCall::require(size_t count) const {
  for (size_t i = 0; i < count; ++i)
    if (!input(i))
      return badModel("input {} is missing", i);
  return Status();
}

HostEvaluator::HostEvaluator(size_t budget) : budget(budget) {
  addHostMath(ops);
  addHostMovement(ops);
}

HostResults HostEvaluator::evaluate(const NodeView &node,
                                    std::vector<const HostTensor *> inputs) {
  HostCall call{node, std::move(inputs), budget};
  auto results = ops.at(node.proto.op_type())(call);
  if (results.ok() && !node.problem().ok())
    return node.problem();
  return results;
}

} // namespace dlc::import

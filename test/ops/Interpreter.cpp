#include "test/ops/Interpreter.h"

using namespace mlir;

namespace dlc::reference {

Tensor constant(ElementsAttr value) {
  Tensor t(cast<RankedTensorType>(value.getType()).getShape());
  auto dense = cast<DenseElementsAttr>(value);
  if (isa<FloatType>(dense.getElementType())) {
    for (auto [to, from] :
         llvm::zip_equal(t.data, dense.getValues<APFloat>())) {
      APFloat f = from;
      bool lost;
      f.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
      to = f.convertToDouble();
    }
    return t;
  }
  bool isBool = dense.getElementType().isInteger(1);
  for (auto [to, from] : llvm::zip_equal(t.data, dense.getValues<APInt>()))
    to = double(isBool ? (int64_t)from.getZExtValue() : from.getSExtValue());
  return t;
}

FailureOr<Outcome> interpret(func::FuncOp f, ArrayRef<Tensor> arguments,
                             const States &states) {
  Outcome outcome;
  llvm::DenseMap<Value, Tensor> values;
  for (auto [v, t] : llvm::zip_equal(f.getArguments(), arguments))
    values[v] = t;
  for (Operation &op : f.front()) {
    Tensors x;
    for (Value v : op.getOperands())
      x.push_back(values.at(v));
    if (auto read = dyn_cast<ir::ReadOp>(op)) {
      values[read.getValue()] = states.at(read.getState().str());
    } else if (auto write = dyn_cast<ir::WriteOp>(op)) {
      outcome.written[write.getState().str()] = x[0];
    } else if (auto gradient = dyn_cast<ir::GradientOp>(op)) {
      outcome.gradients[gradient.getState().str()] = x[0];
    } else if (isa<func::ReturnOp>(op)) {
      outcome.results = x;
    } else {
      std::optional<Tensors> y;
      for (auto family :
           {runAttention, runElementwise, runLinear, runNorm, runShape})
        if (!y)
          y = family(&op, x);
      if (!y)
        return op.emitOpError("is unknown to the interpreter");
      for (auto [v, t] : llvm::zip_equal(op.getResults(), *y)) {
        if (ir::tensorType(v).getShape() != ir::Ints(t.shape))
          return op.emitOpError("has another shape in the interpreter");
        values[v] = t;
      }
    }
  }
  return outcome;
}

} // namespace dlc::reference

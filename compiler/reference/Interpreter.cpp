// SPDX-License-Identifier: Apache-2.0
#include "compiler/reference/Interpreter.h"
#include "runtime/base/numbers/DType.h"
#include <cmath>

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
  const bool isUnsigned = dense.getElementType().isInteger(1) ||
                          dense.getElementType().isInteger(8);
  for (auto [to, from] : llvm::zip_equal(t.data, dense.getValues<APInt>()))
    to =
        double(isUnsigned ? (int64_t)from.getZExtValue() : from.getSExtValue());
  return t;
}

double rounded(double x, Type to) {
  if (to.isF64())
    return x;
  if (to.isF16())
    return fromF16(toF16(float(x)));
  if (to.isBF16())
    return fromBf16(toBf16(float(x)));
  if (to.isF32())
    return float(x);
  const unsigned bits = to.getIntOrFloatBitWidth();
  if (bits == 1)
    return x != 0;
  if (bits == 8) // as ONNX's uint8
    return double(uint8_t(int64_t(x)));
  return bits == 32 ? double(int32_t(int64_t(x))) : std::trunc(x);
}

FailureOr<Outcome> interpret(func::FuncOp f, ArrayRef<Tensor> arguments,
                             const States &states, Precision precision) {
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
      for (auto family : {runAttention, runFloat8, runElementwise, runLinear,
                          runNorm, runRecurrence, runShape})
        if (!y)
          y = family(&op, x);
      if (!y)
        return op.emitOpError("is unknown to the interpreter");
      for (auto [v, t] : llvm::zip_equal(op.getResults(), *y)) {
        if (ir::tensorType(v).getShape() != ir::Ints(t.shape))
          return op.emitOpError("has another shape in the interpreter");
        values[v] = t;
        if (precision == Precision::OfType)
          for (double &x : values[v].data)
            x = rounded(x, ir::elementType(v));
      }
    }
  }
  return outcome;
}

} // namespace dlc::reference

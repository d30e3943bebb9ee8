// SPDX-License-Identifier: Apache-2.0
#include "passes/autocast/FloatProducts.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <fmt/format.h>

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

constexpr int64_t kMultiple = 16;

void setFloat8(ir::MatmulOp op, StringRef a, StringRef b) {
  op->setAttr(kFloat8, Builder(op.getContext()).getStrArrayAttr({a, b}));
}

bool isForwardFloat8(ir::MatmulOp op) {
  auto formats = op->getAttrOfType<ArrayAttr>(kFloat8);
  return formats &&
         llvm::all_of(formats.getAsValueRange<StringAttr>(),
                      [](StringRef format) { return format == "e4m3"; });
}

/// Whether `v` is a state, up to its type and shape.
static bool isWeight(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (isa<ir::ReadOp>(op))
      return true;
    if (!isa<ir::CastOp, ir::TransposeOp, ir::ReshapeOp>(op))
      return false;
    v = op->getOperand(0);
  }
  return false;
}

std::string whyNoFloat8(ir::MatmulOp op) {
  const auto a = tensorType(op.getA()), b = tensorType(op.getB());
  if (b.getRank() != 2 || !isWeight(op.getB()))
    return "its second operand is no weight of two dimensions";
  if (op.getTransA() && a.getRank() != 2)
    return "its first operand is transposed";
  const int64_t inputs = b.getDimSize(op.getTransB() ? 1 : 0),
                outputs = b.getDimSize(op.getTransB() ? 0 : 1),
                rows = a.getNumElements() / std::max<int64_t>(inputs, 1);
  for (auto [name, size] :
       {std::pair("rows", rows), std::pair("inputs", inputs),
        std::pair("outputs", outputs)})
    if (size == 0 || size % kMultiple != 0)
      return fmt::format("{} {} are no multiple of {}", size, name, kMultiple);
  return {};
}

} // namespace dlc

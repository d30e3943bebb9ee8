// SPDX-License-Identifier: Apache-2.0
// What cuBLASLt's products do in the same call, by its documentation.
#include "compiler/target/cuda/Limits.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc::cuda {
namespace {

/// Rows of matrices begin at multiples of 16 bytes, for the fast kernels; those
/// of what gelu keeps at 8 elements.
constexpr int64_t kRowBytes = 16, kGeluRow = 8;

int64_t columnsOf(Value v) { return tensorType(v).getShape().back(); }

std::string whyNoProduct(ir::MatmulOp op) {
  const Type element = ir::elementType(op.getY());
  if (!(ir::isHalf(element) || element.isF32()))
    return "cuBLASLt has epilogues of halves and f32 alone";
  if (tensorType(op.getB()).getRank() != 2 ||
      (op.getTransA() && tensorType(op.getA()).getRank() != 2))
    return "it follows a batch of products";
  for (Value v : {op.getA(), op.getB(), op.getY()}) {
    if (tensorType(v).getNumElements() == 0)
      return "a matrix is empty";
    if (columnsOf(v) * element.getIntOrFloatBitWidth() % (8 * kRowBytes))
      return "rows of " + std::to_string(columnsOf(v)) +
             " elements do not begin at multiples of 16 bytes";
  }
  return "";
}

} // namespace

// Gradients of activations are not asked for. The bit that it keeps of an
// operand of relu is 1 at 0, too, where the gradient is 0; products with the
// gradient of gelu ran at 180 TFLOP/s of an H200, plain ones at 730
// (version 13.1).
Ways waysOfEpilogue(ir::MatmulOp product, Operation *epilogue, Value kept) {
  Way library{By::Library, whyNoProduct(product)};
  if (isa<ir::GeluOp>(epilogue)) {
    if (!cast<ir::GeluOp>(epilogue).getTanh())
      library.whyNot = "cuBLASLt's GELU is its tanh form";
    else if (library.whyNot.empty() && kept && columnsOf(kept) % kGeluRow)
      library.whyNot = "cuBLASLt keeps GELU's operand in rows of multiples of "
                       "8 elements";
  }
  // It is reported to make NaN 0: the loss of a step that diverged would be
  // finite, and the run go on.
  if (isa<ir::ReluOp>(epilogue))
    library.caveat = "cuBLASLt's ReLU makes NaN 0";
  return {library, {By::Decomposed}};
}

} // namespace dlc::cuda

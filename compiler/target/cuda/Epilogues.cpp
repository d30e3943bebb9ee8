// SPDX-License-Identifier: Apache-2.0
// Epilogues of cuBLASLt's products, according to its documentation.
#include "compiler/target/cuda/Limits.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc::cuda {
namespace {

/// Alignment in bytes of matrix rows for the fast kernels; alignment in
/// elements of rows of the value that gelu stores.
constexpr int64_t kRowBytes = 16, kGeluRow = 8;

int64_t columnsOf(Value v) { return tensorType(v).getShape().back(); }

std::string whyNoProduct(ir::MatmulOp op) {
  const Type element = ir::elementType(op.getY());
  if (!(ir::isHalf(element) || element.isF32()))
    return "cuBLASLt has epilogues of 16-bit floats and f32 only";
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

// Gradients of activations are not used. The bit that cuBLASLt stores for an
// operand of relu is 1 at 0, too, where the gradient should be 0; products with
// the gradient of gelu reached 180 TFLOP/s on an H200, plain ones 730 (version
// 13.1).
Ways waysOfEpilogue(ir::MatmulOp product, Operation *epilogue, Value kept) {
  Way library{By::Library, whyNoProduct(product)};
  if (isa<ir::GeluOp>(epilogue)) {
    if (!cast<ir::GeluOp>(epilogue).getTanh())
      library.whyNot = "cuBLASLt's GELU is its tanh form";
    else if (library.whyNot.empty() && kept && columnsOf(kept) % kGeluRow)
      library.whyNot = "cuBLASLt keeps GELU's operand in rows of multiples of "
                       "8 elements";
  }
  // According to reports it maps NaN to 0: the loss of a diverged step would be
  // finite, and the run would continue.
  if (isa<ir::ReluOp>(epilogue))
    library.caveat = "cuBLASLt's ReLU maps NaN to 0";
  return {library, {By::Decomposed}};
}

} // namespace dlc::cuda

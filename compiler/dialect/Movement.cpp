// SPDX-License-Identifier: Apache-2.0
// How movement ops accept operands with permuted dimensions.
#include "compiler/dialect/Dlc.h"

namespace dlc::ir {
namespace {

llvm::SmallVector<int64_t> permuted(Ints dims, Ints order) {
  llvm::SmallVector<int64_t> result;
  for (int64_t d : order)
    result.push_back(dims[d]);
  return result;
}

} // namespace

/// Its own permutation determines the order of the result.
bool TransposeOp::permuteDims(Ints) { return false; }
bool SliceOp::permuteDims(Ints order) {
  setStarts(permuted(getStarts(), order));
  setSizes(permuted(getSizes(), order));
  setSteps(permuted(getSteps(), order));
  return true;
}
bool PadOp::permuteDims(Ints order) {
  setLow(permuted(getLow(), order));
  setHigh(permuted(getHigh(), order));
  setInterior(permuted(getInterior(), order));
  return true;
}
bool ConcatOp::permuteDims(Ints order) {
  setAxis(llvm::find(order, (int64_t)getAxis()) - order.begin());
  return true;
}

} // namespace dlc::ir

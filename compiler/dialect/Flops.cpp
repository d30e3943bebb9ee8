// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of library ops (elementwise and reduce ops are
// counted by their elements), and bytes that look-ups move.
#include "compiler/dialect/MovedBytes.h"
#include "compiler/dialect/ops/JointAttention.h"
#include "compiler/dialect/ops/Windows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

int64_t elements(Value v) { return tensorType(v).getNumElements(); }

int64_t convFlops(Value y, Value w) {
  int64_t each = 2;
  for (int64_t d : tensorType(w).getShape().drop_front())
    each *= d;
  return each * elements(y);
}

int64_t total(ValueRange xs) {
  int64_t n = 0;
  for (Value x : xs)
    n += elements(x);
  return n;
}

} // namespace

int64_t attentionFlops(const AttentionDims &d, int64_t products) {
  int64_t pairs = d.queries * d.keys;
  if (d.causal) {
    const int64_t n = std::min(d.queries, d.keys);
    pairs = n * (n + 1) / 2 + (d.queries - n) * d.keys;
  }
  return d.batch * d.heads * pairs * (d.depth + d.valueDepth) * products;
}

int64_t MatmulOp::countFlops() {
  auto t = tensorType(getA());
  return 2 * elements(getY()) * t.getShape().end()[getTransA() ? -2 : -1];
}
int64_t GroupedMatmulOp::countFlops() {
  return 2 * elements(getY()) * tensorType(getX()).getDimSize(1);
}
int64_t GroupedMatmulBackwardWeightOp::countFlops() {
  return 2 * elements(getDy()) * tensorType(getX()).getDimSize(1);
}
int64_t ConvOp::countFlops() { return convFlops(getY(), getW()); }
int64_t ConvBackwardDataOp::countFlops() { return convFlops(getDy(), getW()); }
int64_t ConvBackwardFilterOp::countFlops() {
  return convFlops(getDy(), getDw());
}
// q k^T and p v; the gradient recomputes scores, and has dy v^T and three more.
int64_t AttentionOp::countFlops() {
  return attentionFlops(AttentionDims::of(*this), 2);
}
int64_t AttentionBackwardOp::countFlops() {
  return attentionFlops(AttentionDims::of(*this), 5);
}
int64_t MaxPoolOp::countFlops() {
  return elements(getY()) * windowOf(*this).taps();
}
int64_t MaxPoolBackwardOp::countFlops() { return elements(getDy()); }
int64_t AvgPoolOp::countFlops() {
  return elements(getY()) * windowOf(*this).taps();
}
int64_t AvgPoolBackwardOp::countFlops() {
  return elements(getDy()) * windowOf(*this).taps();
}
int64_t BatchNormOp::countFlops() { return 8 * elements(getX()); }
int64_t BatchNormBackwardOp::countFlops() { return 11 * elements(getX()); }
int64_t GatherOp::countFlops() { return 0; }
int64_t ScatterAddOp::countFlops() { return elements(getUpdates()); }
int64_t UniqueRowsOp::countFlops() { return elements(getUpdates()); }
int64_t PutRowsOp::countFlops() { return 0; }
int64_t OrthogonalizeOp::countFlops() {
  return 4 * elements(getX()) * tensorType(getX()).getDimSize(1);
}
std::optional<int64_t> movedBytes(Operation *op) {
  auto bytesOf = [](Value v) {
    return elements(v) * ((elementType(v).getIntOrFloatBitWidth() + 7) / 8);
  };
  if (auto gather = dyn_cast<GatherOp>(op))
    return bytesOf(gather.getIndices()) + 2 * bytesOf(gather.getY());
  if (auto put = dyn_cast<PutRowsOp>(op))
    return bytesOf(put.getRows()) + 2 * bytesOf(put.getValues());
  return std::nullopt;
}

int64_t AllFiniteOp::countFlops() { return total(getXs()); }
int64_t GlobalNormOp::countFlops() { return 2 * total(getXs()); }

} // namespace dlc::ir

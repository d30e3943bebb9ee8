// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Infer.h"

using namespace mlir;
using llvm::LogicalResult;

namespace dlc::ir {

AttentionDims AttentionDims::of(RankedTensorType q, RankedTensorType k,
                                RankedTensorType v, StringRef layout,
                                bool causal) {
  const int length = layout == "bthd" ? 1 : 2;
  return {q.getDimSize(0),
          q.getDimSize(3 - length),
          q.getDimSize(length),
          k.getDimSize(length),
          q.getDimSize(3),
          v.getDimSize(3),
          causal};
}
AttentionDims AttentionDims::of(Operation *op) {
  if (auto forward = dyn_cast<AttentionOp>(op))
    return of(forward);
  return of(cast<AttentionBackwardOp>(op));
}

namespace {

bool agree(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

/// (C1) to (C3), (C5), (C6) of dlc.attention.
LogicalResult checkAttention(MaybeLoc loc, Value q, Value k, Value v,
                             StringRef layout) {
  auto tq = tensorType(q), tk = tensorType(k), tv = tensorType(v);
  if (layout != "bhtd" && layout != "bthd")
    return emitOptionalError(loc, "(C6) expected layout bhtd or bthd, found ",
                             layout);
  if (tq.getRank() != 4 || tk.getRank() != 4 || tv.getRank() != 4)
    return emitOptionalError(loc, "(C1) expected q, k and v of rank 4, found ",
                             tq, ", ", tk, " and ", tv);
  const int length = layout == "bthd" ? 1 : 2;
  for (int d : {0, 3 - length})
    if (!agree(tq.getDimSize(d), tk.getDimSize(d)) ||
        !agree(tq.getDimSize(d), tv.getDimSize(d)))
      return emitOptionalError(
          loc, "(C2) batch and heads of q, k and v differ: ", tq, ", ", tk,
          " and ", tv);
  if (!agree(tq.getDimSize(3), tk.getDimSize(3)) ||
      !agree(tk.getDimSize(length), tv.getDimSize(length)))
    return emitOptionalError(
        loc,
        "(C3) q's and k's head dimension or k's and v's length differ: ", tq,
        ", ", tk, " and ", tv);
  return sameElements(loc, "(C5)", {q, k, v});
}

/// (C4): each dimension of the mask is that of the scores, or 1.
LogicalResult checkMask(MaybeLoc loc, Value mask, const AttentionDims &d) {
  if (!mask)
    return success();
  auto t = tensorType(mask);
  const int64_t scores[] = {d.batch, d.heads, d.queries, d.keys};
  bool fits = t.getRank() == 4;
  for (int i = 0; fits && i < 4; ++i)
    fits = t.getDimSize(i) == 1 || agree(t.getDimSize(i), scores[i]);
  if (!fits ||
      !(isa<FloatType>(t.getElementType()) || t.getElementType().isInteger(1)))
    return emitOptionalError(
        loc, "(C4) expected a mask of floats or booleans for scores ", d.batch,
        "x", d.heads, "x", d.queries, "x", d.keys, ", found ", t);
  return success();
}

/// Constraints that an attention and its gradient share.
template <class Adaptor> LogicalResult checkOperands(MaybeLoc loc, Adaptor a) {
  if (failed(checkAttention(loc, a.getQ(), a.getK(), a.getV(), a.getLayout())))
    return failure();
  return checkMask(loc, a.getMask(), AttentionDims::of(a));
}

} // namespace

LogicalResult inferAttention(MaybeLoc loc, AttentionOp::Adaptor a,
                             Types &types) {
  if (failed(checkOperands(loc, a)))
    return failure();
  const AttentionDims d = AttentionDims::of(a);
  auto q = tensorType(a.getQ());
  SmallVector<int64_t> y(q.getShape());
  y[3] = d.valueDepth;
  types.push_back(q.clone(y));
  Type f32 = Float32Type::get(q.getContext());
  types.push_back(RankedTensorType::get(
      {d.batch, d.heads, d.queries, 1},
      q.getElementType().isF64() ? q.getElementType() : f32));
  return success();
}

LogicalResult inferAttentionBackward(MaybeLoc loc,
                                     AttentionBackwardOp::Adaptor a,
                                     Types &types) {
  if (failed(checkOperands(loc, a)))
    return failure();
  const AttentionDims d = AttentionDims::of(a);
  auto y = tensorType(a.getY()), lse = tensorType(a.getLse());
  if (y != tensorType(a.getDy()) || !agree(y.getDimSize(3), d.valueDepth) ||
      lse.getRank() != 4 || !agree(lse.getDimSize(2), d.queries))
    return emitOptionalError(
        loc, "(C7) expected dy, y and lse of one attention, found ",
        tensorType(a.getDy()), ", ", y, " and ", lse);
  types.append({a.getQ().getType(), a.getK().getType(), a.getV().getType()});
  return success();
}

} // namespace dlc::ir

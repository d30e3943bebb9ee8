// SPDX-License-Identifier: Apache-2.0
// Result types of movement ops.
#include "compiler/dialect/Infer.h"

using namespace mlir;
using llvm::LogicalResult;

namespace dlc::ir {
namespace {

/// Checks that each list has an entry per dimension of t.
LogicalResult expectEntries(MaybeLoc loc, RankedTensorType t,
                            std::initializer_list<Ints> lists, StringRef what) {
  for (Ints list : lists)
    if ((int64_t)list.size() != t.getRank())
      return emitOptionalError(loc, "(C1) expected ", t.getRank(), " ", what);
  return success();
}

} // namespace

LogicalResult inferTranspose(MaybeLoc loc, TransposeOp::Adaptor a,
                             Types &types) {
  auto tx = tensorType(a.getX());
  Ints perm = a.getPerm();
  SmallVector<bool> seen(tx.getRank(), false);
  SmallVector<int64_t> shape;
  for (int64_t p : perm) {
    if (p < 0 || p >= tx.getRank() || seen[p])
      return emitOptionalError(loc, "(C1) perm is not a permutation of ",
                               tx.getRank(), " dimensions");
    seen[p] = true;
    shape.push_back(tx.getDimSize(p));
  }
  if ((int64_t)perm.size() != tx.getRank())
    return emitOptionalError(loc, "(C1) perm is not a permutation of ",
                             tx.getRank(), " dimensions");
  types.push_back(withShape(tx, shape));
  return success();
}

LogicalResult inferSlice(MaybeLoc loc, SliceOp::Adaptor a, Types &types) {
  auto tx = tensorType(a.getX());
  if (failed(expectEntries(loc, tx, {a.getStarts(), a.getSizes(), a.getSteps()},
                           "starts, sizes and steps")))
    return failure();
  for (size_t i = 0; i < a.getSizes().size(); ++i) {
    int64_t first = a.getStarts()[i], n = a.getSizes()[i],
            last = first + (n - 1) * a.getSteps()[i], d = tx.getDimSize(i);
    if (n < 0 || a.getSteps()[i] == 0 ||
        (n > 0 && d != kDynamic &&
         (std::min(first, last) < 0 || std::max(first, last) >= d)))
      return emitOptionalError(loc, "(C2) slice of dimension ", (int64_t)i,
                               " leaves [0, ", d, ")");
  }
  types.push_back(withShape(tx, a.getSizes()));
  return success();
}

LogicalResult inferPad(MaybeLoc loc, PadOp::Adaptor a, Types &types) {
  auto tx = tensorType(a.getX());
  if (failed(expectEntries(loc, tx, {a.getLow(), a.getHigh(), a.getInterior()},
                           "low, high and interior sizes")))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < tx.getRank(); ++i) {
    int64_t d = tx.getDimSize(i);
    shape.push_back(d + a.getLow()[i] + a.getHigh()[i] +
                    std::max<int64_t>(d - 1, 0) * a.getInterior()[i]);
    if (a.getLow()[i] < 0 || a.getHigh()[i] < 0 || a.getInterior()[i] < 0)
      return emitOptionalError(loc, "(C2) expected sizes of zero or more");
  }
  types.push_back(withShape(tx, shape));
  return success();
}

LogicalResult inferConcat(MaybeLoc loc, ConcatOp::Adaptor a, Types &types) {
  if (a.getXs().empty())
    return emitOptionalError(loc, "(C1) expected at least one operand");
  auto first = tensorType(a.getXs().front());
  int64_t axis = a.getAxis();
  if (failed(expectAxis(loc, "(C2)", axis, first)))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value v : a.getXs()) {
    auto t = tensorType(v);
    if (t.getRank() != first.getRank() ||
        t.getElementType() != first.getElementType())
      return emitOptionalError(loc,
                               "(C3) operands differ in rank or element type");
    for (int64_t i = 0; i < t.getRank(); ++i)
      if (i != axis && t.getDimSize(i) != shape[i])
        return emitOptionalError(loc, "(C3) operands differ in dimension ", i);
    shape[axis] += t.getDimSize(axis);
  }
  types.push_back(withShape(first, shape));
  return success();
}

LogicalResult inferGather(MaybeLoc loc, GatherOp::Adaptor a, Types &types) {
  auto td = tensorType(a.getData()), ti = tensorType(a.getIndices());
  int64_t axis = a.getAxis();
  if (failed(expectAxis(loc, "(C1)", axis, td)) ||
      failed(expectCallOrKernel(loc, "(C3)", a.getBy())))
    return failure();
  int64_t count = td.getDimSize(axis);
  if (auto row = a.getPadding();
      row && (int64_t(*row) < 0 || (count >= 0 && int64_t(*row) >= count)))
    return emitOptionalError(loc, "(C2) padding ", int64_t(*row),
                             " is none of ", count, " slices");
  SmallVector<int64_t> shape(td.getShape().take_front(axis));
  llvm::append_range(shape, ti.getShape());
  llvm::append_range(shape, td.getShape().drop_front(axis + 1));
  types.push_back(withShape(td, shape));
  return success();
}

LogicalResult expectRows(MaybeLoc loc, StringRef ofRows, StringRef ofValues,
                         Value rows, Value values, RankedTensorType like) {
  auto t = tensorType(rows), v = tensorType(values);
  StringRef law = ofRows;
  if (t.getRank() != 1)
    return emitOptionalError(loc, law, " expected a vector, found ", t);
  SmallVector<int64_t> shape(t.getShape());
  if (like.getRank() > 0)
    llvm::append_range(shape, like.getShape().drop_front());
  law = ofValues;
  if (like.getRank() == 0 || v != like.clone(shape))
    return emitOptionalError(loc, law, " expected ", shape.front(), " rows of ",
                             like, ", found ", v);
  return success();
}
LogicalResult inferUniqueRows(MaybeLoc loc, UniqueRowsOp::Adaptor a,
                              Types &types) {
  if (failed(expectRows(loc, "(C1)", "(C2)", a.getIndices(), a.getUpdates(),
                        tensorType(a.getUpdates()))))
    return failure();
  if (int64_t(a.getSize()) < 1)
    return emitOptionalError(loc, "(C3) expected rows, found ",
                             int64_t(a.getSize()));
  if (failed(expectCallOrOps(loc, "(C4)", a.getBy())))
    return failure();
  types.push_back(a.getIndices().getType());
  types.push_back(a.getUpdates().getType());
  return success();
}

} // namespace dlc::ir

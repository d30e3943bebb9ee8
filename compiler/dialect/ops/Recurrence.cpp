// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/dialect/Infer.h"

using namespace mlir;
using llvm::LogicalResult;

namespace dlc::ir {
namespace {

/// Sizes that determine all others; dynamic where types are dynamic.
struct SequenceSizes {
  int64_t steps = 1, rows = 1, units = 1, columns = 1; // columns of r^T
};

/// (C1): `sequence` has, per step and row, as many elements as r has rows, or
/// columns if `perUnit`; r has `gates` gates.
LogicalResult checkSequence(MaybeLoc loc, Value sequence, Value r,
                            int64_t gates, bool perUnit, SequenceSizes &sizes) {
  auto ts = tensorType(sequence), tr = tensorType(r);
  if (ts.getRank() != 3 || tr.getRank() != 2)
    return emitOptionalError(loc,
                             "(C1) expected a sequence of rank 3 and "
                             "weights of rank 2, found ",
                             ts, " and ", tr);
  sizes = {ts.getDimSize(0), ts.getDimSize(1), tr.getDimSize(1),
           tr.getDimSize(0)};
  auto differ = [](int64_t a, int64_t b) {
    return a != b && a != kDynamic && b != kDynamic;
  };
  if (sizes.steps == 0 || differ(sizes.columns, gates * sizes.units) ||
      differ(ts.getDimSize(2), perUnit ? sizes.units : sizes.columns))
    return emitOptionalError(loc,
                             "(C1) expected one step or more and weights of ",
                             gates, " gates, found ", ts, " and ", tr);
  return success();
}

LogicalResult checkPerRow(MaybeLoc loc, ValueRange states,
                          const SequenceSizes &sizes) {
  for (Value v : states)
    if (failed(expectShape(loc, "(C2)", v, {sizes.rows, sizes.units})))
      return failure();
  return success();
}

LogicalResult checkValid(MaybeLoc loc, Value valid,
                         const SequenceSizes &sizes) {
  return valid ? expectShape(loc, "(C3)", valid, {sizes.steps, sizes.rows})
               : success();
}

/// Constraints that all forward ops share; `states` have one row per sample.
LogicalResult checkForward(MaybeLoc loc, Value x, Value r, Value h0,
                           ValueRange states, Value valid, int64_t gates,
                           SequenceSizes &sizes) {
  if (failed(checkSequence(loc, x, r, gates, false, sizes)) ||
      failed(checkPerRow(loc, states, sizes)) ||
      failed(checkValid(loc, valid, sizes)))
    return failure();
  return sameElements(loc, "(C4)", {x, r, h0});
}

/// Constraints that all backward ops share: `perStep` have the shape of dh,
/// `kept` four times as many columns.
LogicalResult checkBackward(MaybeLoc loc, Value dh, Value r, int64_t gates,
                            ValueRange perStep, Value kept, ValueRange states,
                            Value valid, SequenceSizes &sizes) {
  if (failed(checkSequence(loc, dh, r, gates, true, sizes)))
    return failure();
  const auto [steps, rows, units, columns] = sizes;
  for (Value v : perStep)
    if (failed(expectShape(loc, "(C2)", v, {steps, rows, units})))
      return failure();
  if (kept && failed(expectShape(loc, "(C2)", kept, {4, steps, rows, units})))
    return failure();
  if (failed(checkPerRow(loc, states, sizes)) ||
      failed(checkValid(loc, valid, sizes)))
    return failure();
  return sameElements(loc, "(C4)", {dh, r});
}

Type perStep(Value like, const SequenceSizes &s) {
  return withShape(tensorType(like), {s.steps, s.rows, s.units});
}
Type gatesOf(Value like, const SequenceSizes &s) {
  return withShape(tensorType(like), {4, s.steps, s.rows, s.units});
}
Type perGate(Value like, const SequenceSizes &s) {
  return withShape(tensorType(like), {s.steps, s.rows, s.columns});
}
Type perRow(Value like, const SequenceSizes &s) {
  return withShape(tensorType(like), {s.rows, s.units});
}

LogicalResult inferLstm(MaybeLoc loc, LstmOp::Adaptor a, Types &types) {
  SequenceSizes s;
  if (failed(checkForward(loc, a.getX(), a.getR(), a.getH0(),
                          {a.getH0(), a.getC0()}, a.getValid(), 4, s)))
    return failure();
  types.append(
      {perStep(a.getX(), s), perStep(a.getC0(), s), gatesOf(a.getX(), s)});
  return success();
}

LogicalResult inferLstmBackward(MaybeLoc loc, LstmBackwardOp::Adaptor a,
                                Types &types) {
  SequenceSizes s;
  if (failed(checkBackward(loc, a.getDh(), a.getR(), 4, {a.getDc(), a.getC()},
                           a.getGates(), {a.getC0()}, a.getValid(), s)))
    return failure();
  types.append(
      {perGate(a.getDh(), s), perRow(a.getDh(), s), perRow(a.getC0(), s)});
  return success();
}

LogicalResult inferGru(MaybeLoc loc, GruOp::Adaptor a, Types &types) {
  SequenceSizes s;
  if (failed(checkForward(loc, a.getX(), a.getR(), a.getH0(), {a.getH0()},
                          a.getValid(), 3, s)) ||
      failed(expectShape(loc, "(C2)", a.getBias(), {s.units})))
    return failure();
  types.append({perStep(a.getX(), s), gatesOf(a.getX(), s)});
  return success();
}

LogicalResult inferGruBackward(MaybeLoc loc, GruBackwardOp::Adaptor a,
                               Types &types) {
  SequenceSizes s;
  if (failed(checkBackward(loc, a.getDh(), a.getR(), 3, {a.getH()},
                           a.getGates(), {a.getH0()}, a.getValid(), s)))
    return failure();
  types.append(
      {perGate(a.getDh(), s), perGate(a.getDh(), s), perRow(a.getDh(), s)});
  return success();
}

LogicalResult inferRnn(MaybeLoc loc, RnnOp::Adaptor a, Types &types) {
  SequenceSizes s;
  if (failed(checkForward(loc, a.getX(), a.getR(), a.getH0(), {a.getH0()},
                          a.getValid(), 1, s)))
    return failure();
  types.push_back(perStep(a.getX(), s));
  return success();
}

LogicalResult inferRnnBackward(MaybeLoc loc, RnnBackwardOp::Adaptor a,
                               Types &types) {
  SequenceSizes s;
  if (failed(checkBackward(loc, a.getDh(), a.getR(), 1, {a.getH()}, Value(), {},
                           a.getValid(), s)))
    return failure();
  types.append({perGate(a.getDh(), s), perRow(a.getDh(), s)});
  return success();
}

/// Constraints that both directions share; `perRow` are per row and state.
LogicalResult checkPaths(MaybeLoc loc, Value e, ValueRange perRow,
                         Value valid) {
  auto t = tensorType(e);
  if (t.getRank() != 3 || t.getDimSize(0) == 0 ||
      (t.getDimSize(2) != kDynamic && t.getDimSize(2) < 3))
    return emitOptionalError(loc,
                             "(C1) expected a step or more of rows of three "
                             "places or more, found ",
                             t);
  for (Value v : perRow)
    if (failed(expectShape(loc, "(C2)", v, {t.getDimSize(1), t.getDimSize(2)})))
      return failure();
  return expectShape(loc, "(C3)", valid, {t.getDimSize(0), t.getDimSize(1)});
}

LogicalResult inferCtcPaths(MaybeLoc loc, CtcPathsOp::Adaptor a, Types &types) {
  if (failed(checkPaths(loc, a.getE(), {a.getJumps()}, a.getValid())))
    return failure();
  auto e = tensorType(a.getE());
  types.append({withShape(e, e.getShape().drop_front()), e});
  return success();
}

LogicalResult inferCtcPathsBackward(MaybeLoc loc, CtcPathsBackwardOp::Adaptor a,
                                    Types &types) {
  auto e = tensorType(a.getE());
  if (failed(checkPaths(loc, a.getE(), {a.getJumps(), a.getDlast()},
                        a.getValid())) ||
      failed(expectShape(loc, "(C4)", a.getAll(), e.getShape())) ||
      failed(sameElements(loc, "(C5)", {a.getE(), a.getAll(), a.getDlast()})))
    return failure();
  types.push_back(e);
  return success();
}

/// FLOPs of the product of states and r in all steps.
int64_t recurrenceFlops(Value sequence, Value r) {
  auto t = tensorType(sequence);
  return 2 * t.getDimSize(0) * t.getDimSize(1) * tensorType(r).getNumElements();
}

} // namespace

int64_t LstmOp::countFlops() { return recurrenceFlops(getX(), getR()); }
int64_t LstmBackwardOp::countFlops() {
  return recurrenceFlops(getDh(), getR());
}
int64_t GruOp::countFlops() { return recurrenceFlops(getX(), getR()); }
int64_t GruBackwardOp::countFlops() { return recurrenceFlops(getDh(), getR()); }
int64_t RnnOp::countFlops() { return recurrenceFlops(getX(), getR()); }
int64_t RnnBackwardOp::countFlops() { return recurrenceFlops(getDh(), getR()); }

void registerRecurrences(DlcDialect &dialect) {
  RegisteredOperationName::insert<LstmOp>(dialect);
  RegisteredOperationName::insert<LstmBackwardOp>(dialect);
  RegisteredOperationName::insert<GruOp>(dialect);
  RegisteredOperationName::insert<GruBackwardOp>(dialect);
  RegisteredOperationName::insert<RnnOp>(dialect);
  RegisteredOperationName::insert<RnnBackwardOp>(dialect);
  RegisteredOperationName::insert<CtcPathsOp>(dialect);
  RegisteredOperationName::insert<CtcPathsBackwardOp>(dialect);
}

} // namespace dlc::ir

#define GET_OP_CLASSES
#include "compiler/dialect/Recurrence.cpp.inc"

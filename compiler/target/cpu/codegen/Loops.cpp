// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/Loops.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace dlc {

/// `lanes` 0: chosen by LLVM.
static LLVM::LoopAnnotationAttr annotation(OpBuilder &b, Loops::Kind kind,
                                           LLVM::AccessGroupAttr group,
                                           int64_t lanes) {
  MLIRContext *context = b.getContext();
  auto annotate = [&](LLVM::LoopVectorizeAttr vectorize,
                      LLVM::LoopUnrollAttr unroll,
                      ArrayRef<LLVM::AccessGroupAttr> parallel) {
    return LLVM::LoopAnnotationAttr::get(context, {}, vectorize, {}, unroll, {},
                                         {}, {}, {}, {}, {}, {}, {}, {}, {},
                                         parallel);
  };
  auto unroll = [&](bool disable) {
    return LLVM::LoopUnrollAttr::get(context, b.getBoolAttr(disable), {}, {},
                                     {}, {}, {}, {});
  };
  auto scalar = LLVM::LoopVectorizeAttr::get(context, b.getBoolAttr(true), {},
                                             {}, {}, {}, {}, {});
  const IntegerAttr width = lanes ? b.getI32IntegerAttr(lanes) : IntegerAttr();
  auto vector = [&](BoolAttr masked, LLVM::LoopAnnotationAttr then) {
    return LLVM::LoopVectorizeAttr::get(context, {}, masked, {}, width, then,
                                        {}, {});
  };
  switch (kind) {
  case Loops::Items:
    return annotate(scalar, unroll(true), {});
  case Loops::Between:
    return annotate(scalar, {}, {});
  case Loops::Innermost:
    return annotate(width ? vector({}, {}) : nullptr, {}, group);
  case Loops::Masked:
    return annotate(vector(b.getBoolAttr(true), {}), {}, group);
  case Loops::Tile:
    return annotate(vector({}, annotate({}, unroll(false), group)), {}, group);
  }
  llvm_unreachable("all kinds are handled");
}

/// Lanes of a loop for which LLVM would choose too few, because it estimates a
/// native rounding of more than four elements to bf16 as that many calls. 0:
/// LLVM chooses.
static int64_t lanesOf(scf::ForOp loop, Loops::Kind kind, int64_t most) {
  if (!most || kind < Loops::Innermost ||
      !loop.getBody()
           ->walk([](arith::TruncFOp op) {
             return op.getType().isBF16() ? WalkResult::interrupt()
                                          : WalkResult::advance();
           })
           .wasInterrupted())
    return 0;
  const auto low = getConstantIntValue(loop.getLowerBound()),
             high = getConstantIntValue(loop.getUpperBound());
  if (!low || !high)
    return most;
  const int64_t count = *high - *low;
  if (count < 2)
    return 0;
  if (kind == Loops::Masked)
    return std::min<int64_t>(most, llvm::bit_ceil<uint64_t>(count));
  // Remainders are computed one by one.
  for (int64_t lanes = most; lanes >= 4; lanes /= 2)
    if (count % lanes == 0)
      return lanes;
  return std::min<int64_t>(most, llvm::bit_floor<uint64_t>(count));
}

Loops::Values Loops::loop(Value low, Value high, ValueRange carried, Kind kind,
                          llvm::function_ref<Values(Value, ValueRange)> body) {
  OpBuilder &b = e.b;
  auto op = scf::ForOp::create(b, e.loc, low, high, e.constant(1), carried);
  OpBuilder::InsertionGuard guard(b);
  Block *block = op.getBody();
  if (!block->empty())
    block->back().erase();
  b.setInsertionPointToEnd(block);
  ScalarEmitter::Scope scope(e);
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, e.loc, next);
  op->setAttr(
      LLVM::BrOp::getLoopAnnotationAttrName(
          OperationName(LLVM::BrOp::getOperationName(), b.getContext())),
      annotation(b, kind, e.accessGroup, lanesOf(op, kind, e.roundingLanes)));
  return op.getResults();
}

Loops::Dim Loops::whole(const LoopGroup &group) {
  return {group, Value(), e.constant(group.size)};
}

Loops::Values Loops::nest(ArrayRef<Dim> dims,
                          ArrayRef<const KernelNode *> roots,
                          ValueRange carried, Kind innermost, Body body) {
  for (auto [i, dim] : llvm::enumerate(dims))
    e.setLoop(dim.group, Value(), i + 1);
  e.findLevels();
  return nestFrom(dims, 0, roots, carried, innermost, body);
}

Loops::Values Loops::nestFrom(ArrayRef<Dim> dims, size_t at,
                              ArrayRef<const KernelNode *> roots,
                              ValueRange carried, Kind innermost, Body body) {
  if (at == dims.size())
    return body(carried);
  e.hoist(roots, at);
  const Dim &dim = dims[at];
  const bool isInnermost = at + 1 == dims.size();
  Kind kind = isInnermost ? innermost : Between;
  if (isInnermost && !dim.first && carried.empty())
    if (auto cuts = e.cuts(dim.group); !cuts.empty()) {
      loopInParts(dim.group, cuts, kind, at + 1, body);
      return {};
    }
  return loop(e.constant(0), dim.count, carried, kind,
              [&](Value iv, ValueRange now) {
                if (dim.first)
                  iv = arith::AddIOp::create(e.b, e.loc, dim.first, iv,
                                             arith::IntegerOverflowFlags::nsw);
                e.setLoop(dim.group, iv, at + 1);
                return nestFrom(dims, at + 1, roots, now, innermost, body);
              });
}

void Loops::loopInParts(const LoopGroup &group, ArrayRef<int64_t> cuts,
                        Kind kind, int level, Body body) {
  int64_t low = 0;
  for (int64_t high : llvm::concat<const int64_t>(cuts, ArrayRef(group.size))) {
    e.part = {group, low, high};
    loop(e.constant(low), e.constant(high), {}, kind,
         [&](Value iv, ValueRange now) {
           e.setLoop(group, iv, level);
           return body(now);
         });
    low = high;
  }
  e.part.reset();
}

Value Loops::decodeItem(const KernelSchedule &s, Value item) {
  OpBuilder &b = e.b;
  Value rest = item, number;
  auto take = [&](int64_t count, bool last) {
    if (last)
      return rest;
    Value n = e.constant(count),
          part = arith::RemSIOp::create(b, e.loc, rest, n);
    rest = arith::DivSIOp::create(b, e.loc, rest, n);
    return part;
  };
  ArrayRef<LoopGroup> outer = s.outer;
  bool columns = s.kind == KernelSchedule::Columns;
  if (columns)
    outer = outer.drop_back();
  if (s.block)
    number = take(s.blocks(), outer.empty());
  for (size_t i = outer.size(); i-- > 0;)
    e.setLoop(outer[i], take(outer[i].size, i == 0), 0);
  return number;
}

Loops::Dim Loops::block(const LoopGroup &group, int64_t block, Value number) {
  OpBuilder &b = e.b;
  auto flags = arith::IntegerOverflowFlags::nsw;
  Value count = e.constant(block);
  Value first = arith::MulIOp::create(b, e.loc, number, count, flags);
  if (group.size % block) {
    Value rest =
        arith::SubIOp::create(b, e.loc, e.constant(group.size), first, flags);
    count = arith::MinSIOp::create(b, e.loc, count, rest);
  }
  return {group, first, count};
}

Loops::Values merged(ScalarEmitter &e, ArrayRef<Reduction> reductions,
                     ValueRange a, ValueRange b) {
  Loops::Values states;
  for (const Reduction &r : reductions) {
    llvm::append_range(
        states, r.merge(e, a.take_front(r.width()), b.take_front(r.width())));
    a = a.drop_front(r.width()), b = b.drop_front(r.width());
  }
  return states;
}

Value stackArray(ScalarEmitter &e, Block *entry, Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(entry);
  auto pointer = LLVM::LLVMPointerType::get(e.b.getContext());
  return LLVM::AllocaOp::create(e.b, e.loc, pointer, storageType(element),
                                e.constant(count),
                                /*alignment=*/64);
}

} // namespace dlc

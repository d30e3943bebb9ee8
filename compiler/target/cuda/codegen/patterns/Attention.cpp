// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/patterns/Attention.h"
#include "compiler/kernel/AttentionKernel.h"
#include "compiler/target/cuda/codegen/KernelEmitter.h"
#include "compiler/target/cuda/codegen/patterns/AttentionTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace dlc::cuda {
namespace {

using Values = AttentionTiles::Values;
constexpr int64_t kRows = AttentionTiling::kRows;

/// Reduces among the four threads that share a row.
Value amongRow(AttentionTiles &a, Value v,
               llvm::function_ref<Value(Value, Value)> join) {
  for (int64_t step : {1, 2})
    v = join(v, a.t.exchange(v, step).front());
  return v;
}

//===--- forward ----------------------------------------------------------===//

/// Online softmax over tiles of keys: the largest score `max`, the sum of
/// exp(score - max), and the sum of v's rows with these factors.
class Forward {
public:
  Forward(AttentionTiles &a, ir::AttentionOp op, ArrayRef<Value> outputs)
      : a(a), e(a.e), t(a.t), op(op), outputs(outputs) {}

  void emit() {
    const ir::AttentionDims &d = a.tiling.dims;
    a.place(/*overKeys=*/false);
    a.keep(a.queries(e.pointer(op.getQ()), d.depth), 0);
    Values state{a.f32(-INFINITY), a.f32(-INFINITY), a.f32(0), a.f32(0)};
    llvm::append_range(state, a.zeros(d.valueDepth));
    AttentionTiles::Rows rows[] = {a.keys(e.pointer(op.getK()), d.depth),
                                   a.keys(e.pointer(op.getV()), d.valueDepth)};
    state = a.stream(
        e.constant(0), end(), rows, state, [](Value) {},
        [&](Value tile, ValueRange s) { return step(tile, s); });
    finish(state);
  }

private:
  /// Number of key tiles that the block's queries attend to.
  Value end() {
    const int64_t rows = a.tiling.rows,
                  all = llvm::divideCeil(a.tiling.dims.keys, rows);
    if (!a.tiling.dims.causal)
      return e.constant(all);
    Value last = t.add(a.first, e.constant(kRows - 1));
    return t.least(t.add(t.quotient(last, rows), e.constant(1)), all);
  }

  Value greater(Value x, Value y) {
    return arith::MaximumFOp::create(e.b, e.loc, x, y);
  }
  Value isLowest(Value x) {
    return arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, x,
                                 a.f32(-INFINITY));
  }

  Values step(Value tile, ValueRange state) {
    const ir::AttentionDims &d = a.tiling.dims;
    Values scores = a.products(a.resident(0, d.depth),
                               a.streamed(0, d.depth, tile, false), d.depth);
    Value firstKey = t.times(tile, a.tiling.rows);
    for (auto [i, s] : llvm::enumerate(scores))
      s = a.score(s, t.add(a.first, a.row(i % 4)),
                  t.add(firstKey, a.column(i)));
    Values next(state);
    Value factor[2];
    for (int r : {0, 1}) {
      Value max = state[r];
      for (auto [i, s] : llvm::enumerate(scores))
        if (int(i) / 2 % 2 == r)
          max = greater(max, s);
      max = amongRow(a, max, [&](Value x, Value y) { return greater(x, y); });
      Value base = t.choose(isLowest(max), a.f32(0), max),
            sum = a.times(state[2 + r],
                          factor[r] = a.exp(a.minus(state[r], base)));
      for (auto [i, s] : llvm::enumerate(scores))
        if (int(i) / 2 % 2 == r) {
          s = a.exp(a.minus(s, base));
          sum = a.plus(sum, s);
        }
      next[r] = max;
      next[2 + r] = sum;
    }
    Values sums;
    for (auto [i, v] : llvm::enumerate(state.drop_front(4)))
      sums.push_back(a.times(v, factor[i / 2 % 2]));
    sums = a.accumulate(sums, scores, a.streamed(1, d.valueDepth, tile, true),
                        d.valueDepth);
    llvm::copy(sums, next.begin() + 4);
    return next;
  }

  void finish(ValueRange state) {
    const ir::AttentionDims &d = a.tiling.dims;
    Value factor[2];
    for (int r : {0, 1}) {
      Value sum = amongRow(a, state[2 + r],
                           [&](Value x, Value y) { return a.plus(x, y); });
      Value none = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ,
                                         sum, a.f32(0));
      Value one = a.f32(1), safe = t.choose(none, one, sum);
      factor[r] = t.choose(none, a.f32(0),
                           arith::DivFOp::create(e.b, e.loc, one, safe));
      Value lse = a.plus(state[r], math::LogOp::create(e.b, e.loc, safe));
      storeLse(t.choose(none, a.f32(INFINITY), lse), a.row(2 * r));
    }
    Values y;
    for (auto [i, v] : llvm::enumerate(state.drop_front(4)))
      y.push_back(a.times(v, factor[i / 2 % 2]));
    a.store(y, a.queries(outputs[0], d.valueDepth));
  }
  void storeLse(Value lse, Value row) {
    Value query = t.add(a.first, row);
    Value isFirst = t.isZero(t.remainder(t.thread(), 4));
    t.where(t.both(isFirst, t.isLess(query, a.tiling.dims.queries)), [&] {
      Value at = t.add(t.times(a.head, a.tiling.dims.queries), query);
      e.store(lse, outputs[1], at, e.b.getF32Type());
    });
  }

  AttentionTiles &a;
  ScalarEmitter &e;
  Threads &t;
  ir::AttentionOp op;
  ArrayRef<Value> outputs;
};

//===--- backward ---------------------------------------------------------===//

/// Recomputes p = exp(score - lse), and ds = p (dy v^T - delta) scale: for a
/// block's queries for dq, or for a block's keys (as rows) for dk and dv.
class Backward {
public:
  Backward(AttentionTiles &a, ir::AttentionBackwardOp op,
           ArrayRef<Value> outputs)
      : a(a), e(a.e), t(a.t), d(a.tiling.dims), op(op), outputs(outputs),
        q(e.pointer(op.getQ())), k(e.pointer(op.getK())),
        v(e.pointer(op.getV())), dy(e.pointer(op.getDy())) {}

  void emit(bool overKeys) {
    a.place(overKeys);
    perTile = overKeys ? a.tiling.rows : kRows;
    statistics = t.shared(e.b.getF32Type(), 2 * 2 * perTile);
    overKeys ? ofKeys() : ofQueries();
  }

private:
  void ofQueries() {
    a.keep(a.queries(q, d.depth), 0);
    a.keep(a.queries(dy, d.valueDepth), 1);
    computeStatistics(a.first, Value());
    t.barrier();
    Value lse[2], delta[2];
    for (int r : {0, 1}) {
      lse[r] = load(a.row(2 * r));
      delta[r] = load(t.add(a.row(2 * r), e.constant(perTile)));
    }
    AttentionTiles::Rows rows[] = {a.keys(k, d.depth), a.keys(v, d.valueDepth)};
    Values sums = a.stream(
        e.constant(0), endOfKeys(), rows, a.zeros(d.depth), [](Value) {},
        [&](Value tile, ValueRange carried) {
          Values p = products(0, tile, d.depth),
                 ds = products(1, tile, d.valueDepth);
          Value key = t.times(tile, a.tiling.rows);
          for (size_t i = 0; i < p.size(); ++i) {
            int r = i / 2 % 2;
            Value s = a.score(p[i], t.add(a.first, a.row(i % 4)),
                              t.add(key, a.column(i)));
            p[i] = a.exp(a.minus(s, lse[r]));
            ds[i] = gradient(p[i], ds[i], delta[r]);
          }
          return a.accumulate(carried, ds, a.streamed(0, d.depth, tile, true),
                              d.depth);
        });
    a.store(sums, a.queries(outputs[0], d.depth));
  }

  void ofKeys() {
    a.keep(a.keys(k, d.depth), 0);
    a.keep(a.keys(v, d.valueDepth), 1);
    AttentionTiles::Rows rows[] = {a.queries(q, d.depth),
                                   a.queries(dy, d.valueDepth)};
    Values zeros = a.zeros(d.depth);
    const size_t split = zeros.size();
    llvm::append_range(zeros, a.zeros(d.valueDepth));
    const int64_t all = llvm::divideCeil(d.queries, a.tiling.rows);
    Value first = a.tiling.dims.causal ? t.quotient(a.first, a.tiling.rows)
                                       : e.constant(0);
    Values sums = a.stream(
        t.least(first, all), e.constant(all), rows, zeros,
        [&](Value tile) {
          computeStatistics(t.times(tile, a.tiling.rows), tile);
        },
        [&](Value tile, ValueRange carried) {
          Values p = products(0, tile, d.depth),
                 ds = products(1, tile, d.valueDepth);
          Value query = t.times(tile, a.tiling.rows);
          for (size_t i = 0; i < p.size(); ++i) {
            Value s = a.score(p[i], t.add(query, a.column(i)),
                              t.add(a.first, a.row(i % 4)));
            Value at = t.add(slot(tile), a.column(i));
            p[i] = a.exp(a.minus(s, load(at)));
            ds[i] = gradient(p[i], ds[i], load(t.add(at, e.constant(perTile))));
          }
          Values next =
              a.accumulate(carried.take_front(split), ds,
                           a.streamed(0, d.depth, tile, true), d.depth);
          llvm::append_range(
              next, a.accumulate(carried.drop_front(split), p,
                                 a.streamed(1, d.valueDepth, tile, true),
                                 d.valueDepth));
          return next;
        });
    a.store(ArrayRef(sums).take_front(split), a.keys(outputs[0], d.depth));
    a.store(ArrayRef(sums).drop_front(split), a.keys(outputs[1], d.valueDepth));
  }

  Value endOfKeys() {
    const int64_t rows = a.tiling.rows, all = llvm::divideCeil(d.keys, rows);
    if (!a.tiling.dims.causal)
      return e.constant(all);
    Value last = t.add(a.first, e.constant(kRows - 1));
    return t.least(t.add(t.quotient(last, rows), e.constant(1)), all);
  }
  Values products(int64_t array, Value tile, int64_t width) {
    return a.products(a.resident(array, width),
                      a.streamed(array, width, tile, false), width);
  }
  Value gradient(Value p, Value dp, Value delta) {
    return a.times(a.times(p, a.minus(dp, delta)), a.f32(a.tiling.scale));
  }

  //===--- lse and delta, the sum over a row of dy * y -------------------===//

  Value slot(Value tile) { return t.times(t.remainder(tile, 2), 2 * perTile); }
  Value load(Value at) { return e.load(statistics, at, e.b.getF32Type()); }
  /// For `perTile` queries from `from`, each by several threads.
  void computeStatistics(Value from, Value tile) {
    const int64_t parts = AttentionTiling::kThreads / perTile;
    Value thread = t.thread(), r = t.quotient(thread, parts),
          part = t.remainder(thread, parts), query = t.add(from, r);
    Value valid = t.isLess(query, d.queries);
    Value row = t.least(query, d.queries - 1);
    auto ofDy = a.queries(dy, d.valueDepth),
         ofY = a.queries(e.pointer(op.getY()), d.valueDepth);
    Value base = t.add(ofDy.base, t.times(row, ofDy.stride));
    auto loop =
        scf::ForOp::create(e.b, e.loc, part, e.constant(d.valueDepth / 8),
                           e.constant(parts), a.f32(0));
    {
      OpBuilder::InsertionGuard guard(e.b);
      if (!loop.getBody()->empty())
        loop.getBody()->back().erase();
      e.b.setInsertionPointToEnd(loop.getBody());
      Value at = t.add(base, t.times(loop.getInductionVar(), 8));
      Value both = arith::MulFOp::create(e.b, e.loc, vector(ofDy.pointer, at),
                                         vector(ofY.pointer, at));
      Value sum = loop.getRegionIterArgs().front();
      for (int64_t i = 0; i < 8; ++i) {
        Value lane = LLVM::ConstantOp::create(e.b, e.loc, e.b.getI32Type(), i);
        sum =
            a.plus(sum, LLVM::ExtractElementOp::create(e.b, e.loc, both, lane));
      }
      scf::YieldOp::create(e.b, e.loc, sum);
    }
    Value delta = loop.getResult(0);
    for (int64_t step = 1; step < parts; step *= 2)
      delta = a.plus(delta, t.exchange(delta, step).front());
    t.where(t.isZero(part), [&] {
      Value lse =
          e.load(e.pointer(op.getLse()), t.add(t.times(a.head, d.queries), row),
                 e.b.getF32Type());
      Value at = tile ? t.add(slot(tile), r) : r;
      e.store(t.choose(valid, lse, a.f32(INFINITY)), statistics, at,
              e.b.getF32Type());
      e.store(t.choose(valid, delta, a.f32(0)), statistics,
              t.add(at, e.constant(perTile)), e.b.getF32Type());
    });
  }
  /// Eight 16-bit elements in f32.
  Value vector(Value pointer, Value at) {
    Type half = ir::elementType(op.getQ());
    Value halves =
        LLVM::LoadOp::create(e.b, e.loc, VectorType::get({8}, half),
                             e.element(pointer, at, e.b.getI16Type()), 16);
    return arith::ExtFOp::create(
        e.b, e.loc, VectorType::get({8}, e.b.getF32Type()), halves);
  }

  AttentionTiles &a;
  ScalarEmitter &e;
  Threads &t;
  const ir::AttentionDims &d;
  ir::AttentionBackwardOp op;
  ArrayRef<Value> outputs;
  Value q, k, v, dy, statistics;
  int64_t perTile = 0;
};

/// A kernel of the gradient over keys yields dk and dv.
bool isOverKeys(exec::KernelOp kernel) {
  return isa<ir::AttentionBackwardOp>(attentionOf(kernel.getBody())) &&
         kernel.getBody().front().getTerminator()->getNumOperands() == 2;
}

bool needsWide(exec::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  return llvm::any_of(body.getArguments(), [](Value v) {
    return ir::tensorType(v).getNumElements() >= int64_t(1) << 30;
  });
}

} // namespace

exec::Threads decideAttention(exec::KernelOp kernel) {
  const auto tiling = AttentionTiling::deciding(attentionOf(kernel.getBody()));
  exec::Threads threads;
  threads.grid = tiling.blocks(isOverKeys(kernel));
  threads.block = AttentionTiling::kThreads;
  threads.indexBits = needsWide(kernel) ? 64 : 32;
  threads.tile = tiling.tile();
  return threads;
}

/// The tiling of `kernel`; an error on the op if it is not valid.
static FailureOr<AttentionTiling> tilingOf(exec::KernelOp kernel) {
  Operation *op = attentionOf(kernel.getBody());
  const ir::AttentionDims d = AttentionTiling::deciding(op).dims;
  auto fits = [](int64_t width) { return width % 8 == 0 && width <= 128; };
  if (!ir::isHalf(ir::elementType(op->getOperand(0))) || !fits(d.depth) ||
      !fits(d.valueDepth))
    return kernel.emitOpError("expected 16-bit floats and head dimensions that "
                              "are multiples of 8 up to 128, found ")
           << op->getOperand(0).getType();
  if (!kernel.getThreads())
    return kernel.emitOpError("has no threads, which dlc-map-threads sets");
  const exec::Threads &threads = kernel.getThreadsAttr().getValue();
  std::optional<AttentionTiling> tiling;
  if (threads.tile && threads.block == AttentionTiling::kThreads)
    tiling = AttentionTiling::of(op, *threads.tile);
  if (!tiling)
    return kernel.emitOpError("has threads with a tile that no attention has");
  if (threads.indexBits == 32 && needsWide(kernel))
    return kernel.emitOpError("has threads whose indices are too narrow");
  if (threads.grid != tiling->blocks(isOverKeys(kernel)))
    return kernel.emitOpError("has threads in another number of blocks than "
                              "its loops need");
  return *tiling;
}

LogicalResult emitAttention(exec::KernelOp kernel, ModuleOp module) {
  auto tiling = tilingOf(kernel);
  if (failed(tiling))
    return failure();
  Operation *op = attentionOf(kernel.getBody());
  const exec::Threads &threads = kernel.getThreadsAttr().getValue();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto inputs = kernel.getBody().getArguments();
  size_t results = kernel.getBody().front().getTerminator()->getNumOperands();
  auto function = makeKernel(kernel, b, inputs.size() + results, threads.block);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  KernelGraph none;
  ScalarEmitter e(none, b, kernel.getLoc(),
                  b.getIntegerType(threads.indexBits));
  for (auto [input, pointer] : llvm::zip(inputs, entry->getArguments()))
    e.setPointer(input, pointer);
  Threads t(e, module, kernel.getSymName());
  SmallVector<Value> outputs(entry->getArguments().drop_front(inputs.size()));
  if (threads.grid) {
    AttentionTiles tiles(e, t, op, *tiling);
    if (auto forward = dyn_cast<ir::AttentionOp>(op)) {
      tiles.mask = forward.getMask();
      Forward(tiles, forward, outputs).emit();
    } else {
      auto backward = cast<ir::AttentionBackwardOp>(op);
      tiles.mask = backward.getMask();
      Backward(tiles, backward, outputs).emit(isOverKeys(kernel));
    }
  }
  LLVM::ReturnOp::create(b, kernel.getLoc(), ValueRange());
  return success();
}

} // namespace dlc::cuda

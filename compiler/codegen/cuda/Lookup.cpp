// gather and scatter_add.
#include "compiler/codegen/cuda/Calls.h"
#include "compiler/codegen/cuda/Mapping.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

constexpr int64_t kThreads = 256, kAccess = 16, kMaxColumns = 4;

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A table [outer, size, inner], indices into `size`, and [outer, count, inner]
/// of what they name.
struct Lookup {
  int64_t outer = 1, size, inner = 1, count;

  Lookup(Value table, Value indices, int64_t axis) {
    auto shape = ir::tensorType(table).getShape();
    axis += axis < 0 ? (int64_t)shape.size() : 0;
    size = shape[axis];
    for (int64_t dim : shape.take_front(axis))
      outer *= dim;
    for (int64_t dim : shape.drop_front(axis + 1))
      inner *= dim;
    count = ir::tensorType(indices).getNumElements();
  }
  static Lookup of(ir::GatherOp op) {
    return {op.getData(), op.getIndices(), (int64_t)op.getAxis()};
  }
  static Lookup of(ir::ScatterAddOp op) {
    return {op.getY(), op.getIndices(), (int64_t)op.getAxis()};
  }
};

/// The row that index `i` names.
Value rowAt(ScalarEmitter &e, Threads &t, const Lookup &l, Value indices,
            Value i) {
  Value index = e.load(indices, i, e.indexType);
  Value negative = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt,
                                         index, e.constant(0));
  Value fromEnd = arith::AddIOp::create(e.b, e.loc, index, e.constant(l.size));
  return t.choose(negative, fromEnd, index);
}

//===--- gather: a thread copies up to 16 adjacent bytes ------------------===//

/// Bytes that one thread copies, a divisor of a row's.
int64_t bytesOfThread(ir::GatherOp op) {
  int64_t row = Lookup::of(op).inner * storageBytes(op.getData());
  return std::min(kAccess, row & -row);
}
int64_t threadsOf(ir::GatherOp op) {
  Lookup l = Lookup::of(op);
  return l.outer * l.count * l.inner * storageBytes(op.getData()) /
         std::max<int64_t>(bytesOfThread(op), 1);
}

Launch launchGather(Operation *op) {
  return {divideUp(threadsOf(cast<ir::GatherOp>(op)), kThreads), kThreads};
}

void emitGather(Operation *any, ScalarEmitter &e, Threads &t,
                ValueRange pointers) {
  auto op = cast<ir::GatherOp>(any);
  Lookup l = Lookup::of(op);
  int64_t bytes = bytesOfThread(op);
  Type word = bytes == kAccess ? Type(VectorType::get(4, e.b.getI32Type()))
                               : Type(e.b.getIntegerType(unsigned(bytes) * 8));
  int64_t words = l.inner * storageBytes(op.getData()) / bytes; // of a row
  Value number = t.add(t.times(t.block(), kThreads), t.thread());
  t.where(t.isLess(number, threadsOf(op)), [&] {
    Value to = t.quotient(number, words), column = t.remainder(number, words);
    Value outer = t.quotient(to, l.count);
    Value row = rowAt(e, t, l, pointers[1], t.remainder(to, l.count));
    Value from = t.add(t.times(outer, l.size), t.least(row, l.size - 1));
    auto at = [&](Value pointer, Value line) {
      return e.element(pointer, t.add(t.times(line, words), column), word);
    };
    auto align = static_cast<unsigned>(bytes);
    Value moved =
        LLVM::LoadOp::create(e.b, e.loc, word, at(pointers[0], from), align);
    LLVM::StoreOp::create(e.b, e.loc, moved, at(pointers[2], to), align);
  });
}

//===--- scatter_add: a block has one row of the table --------------------===//
// or a part of it; its threads look through all indices together, each of its
// own, and add what is found, each in its own columns.

struct Scatter {
  Lookup l;
  int64_t threads, columns, tiles; // columns of a thread, parts of a row

  explicit Scatter(ir::ScatterAddOp op) : l(Lookup::of(op)) {
    threads = std::clamp<int64_t>(llvm::alignTo(l.inner, kWarp), 64, kThreads);
    columns = std::clamp<int64_t>(divideUp(l.inner, threads), 1, kMaxColumns);
    tiles = divideUp(l.inner, threads * columns);
  }
};

Launch launchScatter(Operation *op) {
  Scatter s(cast<ir::ScatterAddOp>(op));
  return {s.l.outer * s.l.size * s.tiles, s.threads};
}

class ScatterEmitter {
public:
  ScatterEmitter(ir::ScatterAddOp op, ScalarEmitter &e, Threads &t,
                 ValueRange pointers)
      : op(op), s(op), e(e), t(t), b(e.b), loc(e.loc), indices(pointers[0]),
        updates(pointers[1]), y(pointers[2]),
        element(ir::tensorType(op.getUpdates()).getElementType()) {}

  void run() {
    const Lookup &l = s.l;
    thread = t.thread();
    lane = t.remainder(thread, kWarp);
    warp = t.quotient(thread, kWarp);
    Value line = t.quotient(t.block(), s.tiles); // of outer x size
    outer = t.quotient(line, l.size);
    row = t.remainder(line, l.size);
    Value tile =
        t.times(t.remainder(t.block(), s.tiles), s.threads * s.columns);
    for (int64_t k = 0; k < s.columns; ++k)
      columns.push_back(t.add(t.add(tile, thread), e.constant(k * s.threads)));
    found = t.shared(b.getI32Type(), s.threads / kWarp);
    Threads::Values sums(s.columns, e.number(computeType(element), 0));
    auto chunks = scf::ForOp::create(b, loc, e.constant(0), e.constant(l.count),
                                     e.constant(s.threads), sums);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(chunks.getBody());
      scf::YieldOp::create(
          b, loc, chunk(chunks.getInductionVar(), chunks.getRegionIterArgs()));
    }
    Type to = ir::tensorType(op.getY()).getElementType();
    for (auto [column, sum] : llvm::zip(columns, chunks.getResults()))
      t.where(t.isLess(column, l.inner), [&] {
        e.store(cast(sum, computeType(to)), y,
                t.add(t.times(line, l.inner), column), to);
      });
  }

private:
  using Values = Threads::Values;

  Value cast(Value v, Type type) {
    unsigned from = v.getType().getIntOrFloatBitWidth(),
             to = type.getIntOrFloatBitWidth();
    if (from < to)
      return arith::ExtFOp::create(b, loc, type, v);
    return from > to ? Value(arith::TruncFOp::create(b, loc, type, v)) : v;
  }
  Value word(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }

  /// As many indices as the block has threads, from `first` on.
  Values chunk(Value first, ValueRange sums) {
    Value i = t.add(first, thread);
    Value inside = t.isLess(i, s.l.count);
    Value named = rowAt(e, t, s.l, indices, t.least(i, s.l.count - 1));
    Value matches =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, named, row);
    Value votes = NVVM::VoteSyncOp::create(b, loc, b.getI32Type(), word(-1),
                                           t.both(inside, matches),
                                           NVVM::VoteSyncKind::ballot);
    t.where(t.isZero(lane),
            [&] { e.store(votes, found, warp, b.getI32Type()); });
    t.barrier();
    Values all(sums.begin(), sums.end());
    for (int64_t w = 0; w < s.threads / kWarp; ++w) {
      Value mask = e.load(found, e.constant(w), b.getI32Type());
      all = addMatches(mask, t.add(first, e.constant(w * kWarp)), all);
    }
    t.barrier();
    return all;
  }

  /// Adds the update of each bit of `mask`, whose lowest is of index `first`.
  Values addMatches(Value mask, Value first, const Values &sums) {
    SmallVector<Value> initial = {mask};
    llvm::append_range(initial, sums);
    SmallVector<Type> types(ValueRange(initial).getTypes());
    auto loop = scf::WhileOp::create(
        b, loc, types, initial,
        [&](OpBuilder &, Location, ValueRange state) {
          Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                             state[0], word(0));
          scf::ConditionOp::create(b, loc, more, state);
        },
        [&](OpBuilder &, Location, ValueRange state) {
          scf::YieldOp::create(b, loc, addLowest(state, first));
        });
    return Values(loop.getResults().drop_front());
  }
  SmallVector<Value> addLowest(ValueRange state, Value first) {
    Value mask = state[0];
    Value bit = LLVM::CountTrailingZerosOp::create(b, loc, mask.getType(), mask,
                                                   /*is_zero_poison=*/true);
    Value i = t.add(first, arith::ExtUIOp::create(b, loc, e.indexType, bit));
    Value line = t.times(t.add(t.times(outer, s.l.count), i), s.l.inner);
    Value less = arith::SubIOp::create(b, loc, mask, word(1));
    SmallVector<Value> next = {arith::AndIOp::create(b, loc, mask, less)};
    for (auto [column, sum] : llvm::zip(columns, state.drop_front())) {
      // Threads beyond the row add what they do not store.
      Value at = t.add(line, t.least(column, s.l.inner - 1));
      Value update = e.load(updates, at, element);
      next.push_back(arith::AddFOp::create(b, loc, sum, update));
    }
    return next;
  }

  ir::ScatterAddOp op;
  Scatter s;
  ScalarEmitter &e;
  Threads &t;
  OpBuilder &b;
  Location loc;
  Value indices, updates, y;
  Type element;
  Value thread, lane, warp, outer, row, found;
  Values columns;
};

void emitScatter(Operation *op, ScalarEmitter &e, Threads &t,
                 ValueRange pointers) {
  ScatterEmitter(cast<ir::ScatterAddOp>(op), e, t, pointers).run();
}

} // namespace

CallKernel gatherKernel() { return {"gather", launchGather, emitGather}; }
CallKernel scatterAddKernel() {
  return {"scatter_add", launchScatter, emitScatter};
}

} // namespace dlc::cuda

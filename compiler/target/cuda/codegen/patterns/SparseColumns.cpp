// SPDX-License-Identifier: Apache-2.0
// Sums of a few of many elements: 32 at a time, each thread of a warp looks
// whether one counts; then all threads together add those that do, in their
// order, each to the sums of its own columns.
#include "compiler/target/cuda/codegen/patterns/Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

class SparseColumns {
public:
  using States = Body::States;

  explicit SparseColumns(const Body &k)
      : k(k), m(k.map), e(k.e), t(k.threads), sums(k) {}

  void emit() {
    place();
    States states = sum();
    for (auto [i, chunk] : llvm::enumerate(chunks))
      t.where(t.both(valid, chunk.inside),
              [&] { sums.store(chunk.columns, part(states, i)); });
  }

private:
  struct Chunk {
    Lanes columns;
    Value inside; // null: all threads are within the row
  };

  void place() {
    int64_t warps = m.block / kWarp, size = m.outer.back().size,
            rows = m.rows / size, vectors = size / m.vector;
    Value thread = t.thread();
    lane = t.remainder(thread, kWarp);
    Value warp = t.add(t.times(t.block(), warps), t.quotient(thread, kWarp));
    Value row = t.quotient(warp, m.tiles()), first = lane;
    if (m.tiles() > 1)
      first =
          t.add(lane, t.times(t.remainder(warp, m.tiles()), m.chunks * kWarp));
    if (rows * m.tiles() % warps) {
      valid = t.isLess(row, rows);
      row = t.least(row, rows - 1);
    }
    k.open(m.inner, 2);
    for (int64_t i = 0; i < m.chunks; ++i) {
      Value vector = t.add(first, e.constant(i * kWarp)), inside;
      if (vectors % (m.tiles() * m.chunks * kWarp)) {
        inside = t.isLess(vector, vectors);
        vector = t.least(vector, vectors - 1);
      }
      Value number = t.add(t.times(row, size), t.times(vector, m.vector));
      auto at = k.open(m.outer, number, 1);
      if (i == 0) {
        e.findLevels();
        e.hoist(sums.roots, 0);
      }
      chunks.push_back({Lanes(e, k.graph, m.outer, at, m.vector, 1), inside});
      chunks.back().columns.load(sums.roots, 1);
      chunks.back().columns.each([&](int64_t) { e.hoist(sums.roots, 1); });
    }
  }

  /// The states of chunk i.
  States part(ValueRange states, size_t i) const {
    size_t width = states.size() / chunks.size();
    return States(states.slice(i * width, width));
  }

  States sum() {
    auto loop = scf::ForOp::create(e.b, e.loc, e.constant(0), e.constant(m.row),
                                   e.constant(kWarp),
                                   sums.initial(m.chunks * m.vector));
    OpBuilder::InsertionGuard guard(e.b);
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    e.b.setInsertionPointToEnd(loop.getBody());
    Value first = loop.getInductionVar();
    scf::YieldOp::create(e.b, e.loc,
                         addAll(vote(first), first, loop.getRegionIterArgs()));
    return loop.getResults();
  }

  /// Which of the 32 elements from `first` on count.
  Value vote(Value first) {
    ScalarEmitter::Scope scope(e);
    Value i = t.add(first, lane), exists;
    if (m.row % kWarp) {
      exists = t.isLess(i, m.row);
      i = t.least(i, m.row - 1);
    }
    k.open(m.inner, i, 2);
    Value counts;
    Lanes(&chunks.front().columns).each([&](int64_t column) {
      if (column == 0)
        counts = e.emit(m.condition);
    });
    return t.ballot(t.both(counts, exists));
  }

  /// Adds the element of each bit of `votes`, from the lowest on.
  States addAll(Value votes, Value first, ValueRange states) {
    OpBuilder &b = e.b;
    auto word = [&](int64_t value) {
      return arith::ConstantOp::create(b, e.loc,
                                       b.getI32IntegerAttr((int32_t)value));
    };
    States initial = {votes};
    llvm::append_range(initial, states);
    auto loop = scf::WhileOp::create(
        b, e.loc, ValueRange(initial).getTypes(), initial,
        [&](OpBuilder &, Location, ValueRange carried) {
          Value more = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::ne,
                                             carried[0], word(0));
          scf::ConditionOp::create(b, e.loc, more, carried);
        },
        [&](OpBuilder &, Location, ValueRange carried) {
          Value bits = carried[0];
          Value bit = LLVM::CountTrailingZerosOp::create(
              b, e.loc, bits.getType(), bits, /*is_zero_poison=*/true);
          Value less = arith::SubIOp::create(b, e.loc, bits, word(1));
          States next = {arith::AndIOp::create(b, e.loc, bits, less)};
          ScalarEmitter::Scope scope(e);
          k.open(m.inner, t.add(first, e.resize(bit, e.indexType)), 2);
          for (auto [i, chunk] : llvm::enumerate(chunks))
            llvm::append_range(
                next, add(chunk.columns, part(carried.drop_front(), i)));
          scf::YieldOp::create(b, e.loc, next);
        });
    return States(loop.getResults().drop_front());
  }
  States add(Lanes &columns, const States &states) {
    Lanes elements(&columns);
    elements.load(sums.roots, 2);
    Value isTrue = arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(true));
    States next;
    elements.each([&](int64_t i) {
      e.set(m.condition, isTrue);
      llvm::append_range(next, k.combine(sums.all, sums.of(states, i)));
    });
    return next;
  }

  const Body &k;
  const Mapping &m;
  ScalarEmitter &e;
  Threads &t;
  const Sums sums;
  Value lane;
  Value valid; // whether the warp's row exists; null: always
  std::vector<Chunk> chunks;
};

} // namespace

void emitSparseColumns(const Body &body) { SparseColumns(body).emit(); }

} // namespace dlc::cuda

// SPDX-License-Identifier: Apache-2.0
// Sums in which most elements are zero, as updates of a table's rows. A block
// handles adjacent rows. Its threads examine all elements and list those that
// are not zero for one of the rows, in order. Then each warp sums rows: 32
// threads select the elements of the list that belong to the row, then each
// adds these to the sums of its own columns. If the list overflows, it is
// rebuilt for every row, in pieces.
#include "compiler/target/cuda/codegen/patterns/Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

/// Bytes of a list; elements that a thread examines between barriers; elements
/// whose loads are issued together.
constexpr int64_t kListBytes = 32 << 10, kMostLooks = 8, kUnderWay = 8;

class SparseColumns {
public:
  using States = Body::States;

  explicit SparseColumns(const Body &k)
      : k(k), m(k.map), e(k.e), t(k.threads), sums(k), warps(m.block / kWarp),
        looks(std::clamp<int64_t>(m.row / m.block, 1, kMostLooks)),
        capacity(kListBytes * 8 / m.indexBits) {}

  void emit() {
    place();
    list = t.shared(e.indexType, capacity);
    counts = t.shared(e.indexType, warps);
    ScalarEmitter::Scope scope(e);
    Found all = find(e.constant(0));
    Value whole = t.isLess(e.constant(m.row - 1), all.next);
    auto loop = forLoop(warp, e.constant(m.together() * m.tiles()), warps, {});
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(loop.getBody()->getTerminator());
    addRow(loop.getInductionVar(), all, whole);
  }

private:
  /// Number of listed elements, and the first that was not examined.
  struct Found {
    Value count, next;
  };

  scf::ForOp forLoop(Value from, Value to, int64_t step, ValueRange states) {
    return scf::ForOp::create(e.b, e.loc, from, to, e.constant(step), states);
  }

  void place() {
    Value thread = t.thread(), group = t.block();
    lane = t.remainder(thread, kWarp);
    warp = t.quotient(thread, kWarp);
    size = m.outer.end()[-2].size;
    around = t.times(t.quotient(group, m.groups()), size);
    firstRow = t.times(t.remainder(group, m.groups()), m.together());
    k.open(m.outer, t.times(t.add(around, firstRow), m.outer.back().size), 1);
    k.open(m.inner, 2);
    e.findLevels();
    e.hoist(sums.roots, 0);
  }

  //===--- the list ---------------------------------------------------------//

  /// Whether element `i` contributes to a row of the block.
  Value meets(Value i) {
    ScalarEmitter::Scope scope(e);
    k.open(m.inner, i, 2);
    Value any;
    for (const Meeting &meeting : m.meetings) {
      Value number = e.emit(meeting.number);
      Type type = number.getType();
      // One unsigned comparison checks both bounds.
      Value first =
          arith::AddIOp::create(e.b, e.loc, e.resize(firstRow, type),
                                e.number(type, (double)meeting.offset));
      Value distance = arith::SubIOp::create(e.b, e.loc, number, first);
      Value one =
          arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult, distance,
                                e.number(type, (double)m.together()));
      any = any ? Value(arith::OrIOp::create(e.b, e.loc, any, one)) : one;
    }
    return any;
  }

  Value word(int64_t value) {
    return arith::ConstantOp::create(e.b, e.loc,
                                     e.b.getI32IntegerAttr((int32_t)value));
  }
  Value bitsOf(Value votes) {
    return e.resize(LLVM::CtPopOp::create(e.b, e.loc, votes.getType(), votes),
                    e.indexType);
  }

  /// Lists elements from `from` on. All threads of the block must participate.
  Found find(Value from) {
    OpBuilder &b = e.b;
    const int64_t step = m.block * looks;
    States initial = {e.constant(0), from};
    auto loop = scf::WhileOp::create(
        b, e.loc, ValueRange(initial).getTypes(), initial,
        [&](OpBuilder &, Location, ValueRange carried) {
          Value more = t.both(t.isLess(carried[1], m.row),
                              t.isLess(carried[0], capacity - step + 1));
          scf::ConditionOp::create(b, e.loc, more, carried);
        },
        [&](OpBuilder &, Location, ValueRange carried) {
          Value count = look(carried[0], carried[1]);
          scf::YieldOp::create(
              b, e.loc, ValueRange{count, t.add(carried[1], e.constant(step))});
        });
    t.barrier();
    return {loop.getResult(0), loop.getResult(1)};
  }

  /// Each thread examines some elements; returns the list's new length.
  Value look(Value count, Value from) {
    Value first = t.add(t.add(from, t.times(warp, looks * kWarp)), lane);
    SmallVector<Value> elements, hits, votes;
    for (int64_t i = 0; i < looks; ++i) {
      Value element = t.add(first, e.constant(i * kWarp)), exists;
      if (m.row % (m.block * looks)) {
        exists = t.isLess(element, m.row);
        element = t.least(element, m.row - 1);
      }
      elements.push_back(element);
      hits.push_back(t.both(meets(element), exists));
    }
    Value own = e.constant(0);
    for (Value hit : hits) {
      votes.push_back(t.ballot(hit));
      own = t.add(own, bitsOf(votes.back()));
    }
    t.where(t.isZero(lane), [&] { e.store(own, counts, warp, e.indexType); });
    t.barrier();
    Value place = count;
    for (int64_t i = 0; i < warps; ++i) {
      Value n = e.load(counts, e.constant(i), e.indexType);
      count = t.add(count, n);
      place = t.add(place,
                    t.choose(t.isLess(e.constant(i), warp), n, e.constant(0)));
    }
    t.barrier(); // before `counts` is overwritten
    Value before = arith::SubIOp::create(
        e.b, e.loc,
        arith::ShLIOp::create(e.b, e.loc, word(1),
                              e.resize(lane, e.b.getI32Type())),
        word(1));
    for (auto [element, hit, vote] : llvm::zip(elements, hits, votes)) {
      Value lower = arith::AndIOp::create(e.b, e.loc, vote, before);
      t.where(hit, [&] {
        e.store(element, list, t.add(place, bitsOf(lower)), e.indexType);
      });
      place = t.add(place, bitsOf(vote));
    }
    return count;
  }

  //===--- the sums ---------------------------------------------------------//

  /// A warp's part of a row. `all`: elements listed for the block, if `whole`.
  void addRow(Value item, Found all, Value whole) {
    ScalarEmitter::Scope scope(e);
    Value row = t.add(firstRow, t.quotient(item, m.tiles())), valid;
    if (size % m.together()) {
      valid = t.isLess(row, size);
      row = t.least(row, size - 1);
    }
    Value vector = lane;
    int64_t vectors = m.outer.back().size / m.vector;
    if (m.tiles() > 1)
      vector = t.add(vector, t.times(t.remainder(item, m.tiles()), kWarp));
    if (vectors % kWarp) {
      valid = t.both(valid, t.isLess(vector, vectors));
      vector = t.least(vector, vectors - 1);
    }
    Value number = t.add(t.times(t.add(around, row), m.outer.back().size),
                         t.times(vector, m.vector));
    auto at = k.open(m.outer, number, 1);
    Lanes columns(e, k.graph, m.outer, at, m.vector, 1);
    columns.load(sums.roots, 1);
    columns.load(sums.results, 1); // loads overlap with the selection
    columns.each([&](int64_t) { e.hoist(sums.roots, 1); });
    States states = addLists(columns, all, whole);
    t.where(valid, [&] { sums.store(columns, states); });
  }

  States addLists(Lanes &columns, Found all, Value whole) {
    OpBuilder &b = e.b;
    States initial = {e.constant(0)};
    llvm::append_range(initial, sums.initial(m.vector));
    auto loop = scf::WhileOp::create(
        b, e.loc, ValueRange(initial).getTypes(), initial,
        [&](OpBuilder &, Location, ValueRange carried) {
          scf::ConditionOp::create(b, e.loc, t.isLess(carried[0], m.row),
                                   carried);
        },
        [&](OpBuilder &, Location, ValueRange carried) {
          Found part = listFrom(carried[0], all, whole);
          States next = {part.next};
          llvm::append_range(
              next, addListed(columns, part.count, carried.drop_front()));
          scf::YieldOp::create(b, e.loc, next);
        });
    return States(loop.getResults().drop_front());
  }

  /// The whole list, or a piece of it that is built now.
  Found listFrom(Value from, Found all, Value whole) {
    OpBuilder &b = e.b;
    auto branch = scf::IfOp::create(b, e.loc, {e.indexType, e.indexType}, whole,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, e.loc, ValueRange{all.count, all.next});
    b.setInsertionPointToEnd(branch.elseBlock());
    t.barrier(); // all have read the list
    Found part = find(from);
    scf::YieldOp::create(b, e.loc, ValueRange{part.count, part.next});
    return {branch.getResult(0), branch.getResult(1)};
  }

  States addListed(Lanes &columns, Value count, ValueRange states) {
    auto loop = forLoop(e.constant(0), count, kWarp, states);
    OpBuilder::InsertionGuard guard(e.b);
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    e.b.setInsertionPointToEnd(loop.getBody());
    Value first = loop.getInductionVar();
    States next = {vote(columns, first, count)};
    llvm::append_range(next, loop.getRegionIterArgs());
    for (int64_t together : {kUnderWay, int64_t(1)})
      next = addWhile(columns, first, next, together);
    scf::YieldOp::create(e.b, e.loc, ValueRange(next).drop_front());
    return loop.getResults();
  }

  /// Selects those of the 32 elements of the list from `first` on that belong
  /// to the row.
  Value vote(Lanes &columns, Value first, Value count) {
    ScalarEmitter::Scope scope(e);
    Value i = t.add(first, lane), exists = t.isLess(i, count);
    i = t.choose(exists, i, first);
    k.open(m.inner, listed(i), 2);
    Value counts;
    Lanes(&columns).each([&](int64_t column) {
      if (column == 0)
        counts = e.emit(m.condition);
    });
    return t.ballot(t.both(counts, exists));
  }
  Value listed(Value i) { return e.load(list, i, e.indexType); }

  /// Adds elements selected by initial[0], from the lowest bit on, `together`
  /// at a time while there are that many; returns remaining bits and states.
  States addWhile(Lanes &columns, Value first, ValueRange initial,
                  int64_t together) {
    OpBuilder &b = e.b;
    auto loop = scf::WhileOp::create(
        b, e.loc, initial.getTypes(), initial,
        [&](OpBuilder &, Location, ValueRange carried) {
          Value n = LLVM::CtPopOp::create(b, e.loc, b.getI32Type(), carried[0]);
          Value more = arith::CmpIOp::create(
              b, e.loc, arith::CmpIPredicate::uge, n, word(together));
          scf::ConditionOp::create(b, e.loc, more, carried);
        },
        [&](OpBuilder &, Location, ValueRange carried) {
          Value bits = carried[0];
          SmallVector<Value> elements;
          for (int64_t i = 0; i < together; ++i) {
            Value bit = LLVM::CountTrailingZerosOp::create(
                b, e.loc, bits.getType(), bits, /*is_zero_poison=*/true);
            elements.push_back(
                listed(t.add(first, e.resize(bit, e.indexType))));
            bits = arith::AndIOp::create(
                b, e.loc, bits, arith::SubIOp::create(b, e.loc, bits, word(1)));
          }
          States next = {bits};
          llvm::append_range(next,
                             add(columns, elements, carried.drop_front()));
          scf::YieldOp::create(b, e.loc, next);
        });
    return loop.getResults();
  }

  /// Adds elements in order, after loading all of them.
  States add(Lanes &columns, ArrayRef<Value> elements, ValueRange states) {
    ScalarEmitter::Scope scope(e);
    std::vector<Lanes> loaded;
    for (Value i : elements) {
      k.open(m.inner, i, 2);
      loaded.emplace_back(&columns).load(sums.roots, 2);
    }
    Value isTrue = arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(true));
    States sum(states);
    for (auto [i, lanes] : llvm::zip(elements, loaded)) {
      k.open(m.inner, i, 2);
      States next;
      lanes.each([&](int64_t column) {
        e.set(m.condition, isTrue);
        llvm::append_range(next, k.combine(sums.all, sums.of(sum, column)));
      });
      sum = next;
    }
    return sum;
  }

  const Body &k;
  const Mapping &m;
  ScalarEmitter &e;
  Threads &t;
  const Sums sums;
  const int64_t warps, looks, capacity;
  int64_t size = 0; // of the rows' loop
  Value lane, warp;
  Value around, firstRow; // outer rows, and the block's first
  Value list, counts;     // shared: elements, and counts per warp
};

} // namespace

void emitSparseColumns(const Body &body) { SparseColumns(body).emit(); }

} // namespace dlc::cuda

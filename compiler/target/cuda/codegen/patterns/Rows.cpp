// SPDX-License-Identifier: Apache-2.0
// Threads that share a row: each reduces its own elements, then they exchange
// states, by shuffles within a warp and through shared memory between warps.
// All get equal results, in an order that depends only on the shape.
//
// A row that fits stays in registers: its elements are loaded and computed
// once, for all reductions and outputs. A longer row is read again for each.
// Elements beyond the end of a row are computed from its last ones; they are
// excluded from reductions and not stored.
//
// If columns are summed, too, a block iterates over rows: each thread adds the
// elements of its columns, and threads with the same columns combine their sums
// at the end, in order.
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cuda/codegen/threads/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

class Rows {
public:
  using States = Body::States;
  using Roots = SmallVector<const KernelNode *>;

  explicit Rows(const Body &k) : k(k), m(k.map), e(k.e), t(k.threads) {
    for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
      if (o.sum)
        sums.push_back({&o, pointer});
  }

  void emit() {
    place();
    if (m.summed)
      return sumColumns();
    Value row = t.times(t.block(), perBlock());
    if (perBlock() > 1)
      row = t.add(row, group);
    computeRow(existing(row, m.rows));
  }

private:
  int64_t perBlock() const { return m.block / m.across; }

  void place() {
    Value thread = t.thread();
    lane = m.across == 1    ? e.constant(0)
           : perBlock() > 1 ? t.remainder(thread, m.across)
                            : thread;
    if (perBlock() > 1)
      group = t.quotient(thread, m.across);
  }
  /// Index `number` clamped to the last row.
  Value existing(Value number, int64_t rows) {
    if (rows % perBlock() == 0)
      return number;
    valid = t.isLess(number, rows);
    return t.least(number, rows - 1);
  }
  void computeRow(Value row) {
    k.open(m.outer, row, 0);
    k.open(m.inner, 1);
    e.findLevels();
    if (m.inRegisters)
      for (int64_t i = 0; i < m.chunks; ++i)
        kept.push_back(chunk(e.constant(i), i == m.chunks - 1 && hasRest()));
    for (unsigned depth = 1; depth <= k.graph.depth; ++depth)
      reduce(depth);
    storeFull();
    storeKept();
  }

  //===--- chunks: a vector of every thread -------------------------------===//

  struct Chunk {
    Lanes lanes;
    Value inside; // null: all threads are within the row
  };
  bool hasRest() const { return m.row % (m.across * m.vector); }

  Chunk chunk(Value number, bool isRest) {
    Value position = t.times(t.add(t.times(number, m.across), lane), m.vector);
    Value inside;
    if (isRest) {
      inside = t.isLess(position, m.row);
      position = t.least(position, m.row - m.vector);
    }
    auto at = k.open(m.inner, position, 1);
    return {Lanes(e, k.graph, m.inner, at, m.vector, 1), inside};
  }

  /// Iterates over all chunks in order, with carried values.
  States forEachChunk(States carried,
                      llvm::function_ref<States(Chunk &, ValueRange)> body) {
    if (m.inRegisters) {
      for (Chunk &c : kept)
        carried = body(c, carried);
      return carried;
    }
    int64_t full = m.row / (m.across * m.vector);
    if (full)
      carried = k.loop(full, carried, [&](Value number, ValueRange carried) {
        Chunk c = chunk(number, false);
        return body(c, carried);
      });
    if (hasRest()) {
      ScalarEmitter::Scope scope(e);
      Chunk rest = chunk(e.constant(full), true);
      carried = body(rest, carried);
    }
    return carried;
  }
  //===--- reductions -----------------------------------------------------===//

  void reduce(unsigned depth) {
    SmallVector<Reduction> all;
    Roots roots;
    for (const auto &node : k.graph.nodes)
      if (node->kind == KernelNode::Reduce && node->depth == depth) {
        all.emplace_back(k.graph, node.get());
        roots.push_back(node->children.front());
      }
    e.hoist(roots, 0);
    States own =
        forEachChunk(k.initial(all), [&](Chunk &c, ValueRange carried) {
          States states(carried);
          c.lanes.load(roots, 1);
          c.lanes.each([&](int64_t) {
            States next = k.combine(all, states);
            if (c.inside)
              for (auto [n, old] : llvm::zip(next, states))
                n = t.choose(c.inside, n, old);
            states = next;
          });
          return states;
        });
    k.setResults(all, share(all, own));
  }

  States share(ArrayRef<Reduction> reductions, States states) {
    states = shuffle(reductions, states, std::min(m.across, kWarp));
    if (m.across <= kWarp)
      return states;
    int64_t warps = m.across / kWarp;
    Value number = t.remainder(lane, kWarp), warp = t.quotient(lane, kWarp);
    SmallVector<Value> arrays;
    for (Value v : states)
      arrays.push_back(t.shared(v.getType(), warps * perBlock()));
    auto ofRow = [&](Value warp) {
      return group ? t.add(t.times(group, warps), warp) : warp;
    };
    t.where(t.isZero(number), [&] {
      for (auto [v, array] : llvm::zip(states, arrays))
        e.store(v, array, ofRow(warp), v.getType());
    });
    t.barrier();
    // Groups of this many threads each read the states of all warps.
    int64_t all = llvm::PowerOf2Ceil(warps);
    Value from = t.remainder(number, all), exists = t.isLess(from, warps);
    from = ofRow(t.least(from, warps - 1));
    States none = k.initial(reductions);
    for (auto [v, array, initial] : llvm::zip(states, arrays, none))
      v = t.choose(exists, e.load(array, from, v.getType()), initial);
    return shuffle(reductions, states, all);
  }
  /// Combines states among each `count` adjacent threads.
  States shuffle(ArrayRef<Reduction> all, States states, int64_t count) {
    for (int64_t step = count / 2; step; step /= 2)
      states = k.merge(all, states, t.exchange(states, step));
    return states;
  }

  //===--- outputs --------------------------------------------------------===//

  void storeFull() {
    Roots roots;
    for (const KernelOutput &o : k.graph.outputs)
      if (o.full)
        roots.push_back(o.node);
    if (roots.empty())
      return;
    e.hoist(roots, 0);
    forEachChunk({}, [&](Chunk &c, ValueRange) {
      c.lanes.load(roots, 1);
      for (const KernelNode *node : roots)
        c.lanes.emit(node);
      t.where(t.both(valid, c.inside), [&] {
        for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
          if (o.full)
            c.lanes.store(o, pointer);
      });
      return States();
    });
  }
  void storeKept() {
    auto isKept = [](const KernelOutput &o) { return !o.full && !o.sum; };
    if (llvm::none_of(k.graph.outputs, isKept))
      return;
    Value first = m.across == 1 ? Value() : t.isZero(lane);
    t.where(t.both(valid, first), [&] {
      for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
        if (isKept(o))
          e.store(e.emit(o.node), pointer, e.emit(o.offset),
                  ir::elementType(o.node->value));
    });
  }

  //===--- sums of columns ------------------------------------------------===//

  /// Number of the thread's sums per column sum, over all chunks.
  int64_t own() const { return m.chunks * m.vector; }
  static Type typeOf(const KernelOutput &o) {
    return computeType(ir::elementType(o.node->value));
  }
  Value plus(Value a, Value b) {
    return isa<FloatType>(a.getType())
               ? Value(arith::AddFOp::create(e.b, e.loc, a, b))
               : Value(arith::AddIOp::create(e.b, e.loc, a, b));
  }

  void sumColumns() {
    const int64_t turns = llvm::divideCeil(m.summed, perBlock());
    Value first = t.times(t.block(), m.summed);
    States none;
    for (auto &[o, pointer] : sums)
      none.append(own(), e.number(typeOf(*o), 0));
    States all = k.loop(turns, none, [&](Value number, ValueRange carried) {
      number = t.times(number, perBlock());
      if (group)
        number = t.add(number, group);
      computeRow(t.add(first, existing(number, m.summed)));
      States next = addColumns(carried);
      kept.clear();
      if (m.across > kWarp) // the next row overwrites it
        t.barrier();
      return next;
    });
    storeSums(first, all);
  }
  States addColumns(ValueRange carried) {
    States next;
    for (auto &[o, pointer] : sums)
      for (Chunk &c : kept)
        c.lanes.each([&](int64_t) {
          Value old = carried[next.size()], sum = plus(old, e.emit(o->node));
          next.push_back(valid ? t.choose(valid, sum, old) : sum);
        });
    return next;
  }

  void storeSums(Value row, ValueRange all) {
    k.open(m.outer, row, 0);
    Value isFirst = group ? t.isZero(group) : Value();
    for (auto &[o, pointer] : sums) {
      States states(all.take_front(own()));
      all = all.drop_front(own());
      if (group)
        join(states);
      for (int64_t i = 0; i < m.chunks; ++i) {
        Chunk c = chunk(e.constant(i), i == m.chunks - 1 && hasRest());
        c.lanes.each(
            [&](int64_t lane) { e.set(o->node, states[i * m.vector + lane]); });
        t.where(t.both(isFirst, c.inside), [&] { c.lanes.store(*o, pointer); });
      }
    }
  }
  /// Adds the sums of the other groups to those of the first.
  void join(States &states) {
    const Type type = states.front().getType();
    const int64_t each = m.across * own();
    if (!toJoin || typeToJoin != type) {
      toJoin = t.shared(type, (perBlock() - 1) * each);
      typeToJoin = type;
    } else {
      t.barrier(); // earlier sums have been read
    }
    auto slot = [&](int64_t i) {
      return t.add(lane, e.constant(i * m.across));
    };
    t.where(t.isLess(e.constant(0), group), [&] {
      Value from = t.times(
          arith::SubIOp::create(e.b, e.loc, group, e.constant(1)), each);
      for (int64_t i = 0; i < own(); ++i)
        e.store(states[i], toJoin, t.add(from, slot(i)), type);
    });
    t.barrier();
    for (int64_t g = 0; g < perBlock() - 1; ++g)
      for (int64_t i = 0; i < own(); ++i)
        states[i] =
            plus(states[i],
                 e.load(toJoin, t.add(slot(i), e.constant(g * each)), type));
  }

  const Body &k;
  const Mapping &m;
  ScalarEmitter &e;
  Threads &t;
  SmallVector<std::pair<const KernelOutput *, Value>> sums; // and address
  Value toJoin;                                             // a shared array
  Type typeToJoin;
  Value group; // index in the block; null: only one
  Value lane;  // index of the thread in its row
  Value valid; // whether its row exists; null: true
  std::vector<Chunk> kept;
};

} // namespace

void emitRows(const Body &body) { Rows(body).emit(); }

} // namespace dlc::cuda

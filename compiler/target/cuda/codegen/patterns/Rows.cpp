// SPDX-License-Identifier: Apache-2.0
// Threads that share a row: each reduces its own elements, then they exchange
// states, by shuffles within a warp and through shared memory between warps.
// All of them get the same bits, in an order that depends on the shape alone.
//
// A row that fits stays in registers: its elements are loaded and computed
// once, for all reductions and outputs. A longer one is read again for each.
// Elements beyond the end of a row are computed from its last ones; they are
// left out of reductions and not stored.
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cuda/codegen/threads/Body.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

class Rows {
public:
  using States = Body::States;
  using Roots = SmallVector<const KernelNode *>;

  explicit Rows(const Body &k) : k(k), m(k.map), e(k.e), t(k.threads) {}

  void emit() {
    place();
    for (unsigned depth = 1; depth <= k.graph.depth; ++depth)
      reduce(depth);
    storeFull();
    storeKept();
  }

private:
  int64_t perBlock() const { return m.block / m.across; }

  void place() {
    Value thread = t.thread();
    lane = m.across == 1    ? e.constant(0)
           : perBlock() > 1 ? t.remainder(thread, m.across)
                            : thread;
    Value row = t.times(t.block(), perBlock());
    if (perBlock() > 1)
      row = t.add(row, t.quotient(thread, m.across));
    if (m.rows % perBlock()) {
      valid = t.isLess(row, m.rows);
      row = t.least(row, m.rows - 1);
    }
    k.open(m.outer, row, 0);
    k.open(m.inner, 1);
    e.findLevels();
    if (m.inRegisters)
      for (int64_t i = 0; i < m.chunks; ++i)
        kept.push_back(chunk(e.constant(i), i == m.chunks - 1 && hasRest()));
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

  /// All chunks in order, with values carried along.
  States forEachChunk(States carried,
                      llvm::function_ref<States(Chunk &, ValueRange)> body) {
    if (m.inRegisters) {
      for (Chunk &c : kept)
        carried = body(c, carried);
      return carried;
    }
    int64_t full = m.row / (m.across * m.vector);
    if (full)
      carried = loop(full, carried, body);
    if (hasRest()) {
      ScalarEmitter::Scope scope(e);
      Chunk rest = chunk(e.constant(full), true);
      carried = body(rest, carried);
    }
    return carried;
  }
  States loop(int64_t count, ValueRange carried,
              llvm::function_ref<States(Chunk &, ValueRange)> body) {
    auto op = scf::ForOp::create(e.b, e.loc, e.constant(0), e.constant(count),
                                 e.constant(1), carried);
    OpBuilder::InsertionGuard guard(e.b);
    if (!op.getBody()->empty())
      op.getBody()->back().erase();
    e.b.setInsertionPointToEnd(op.getBody());
    ScalarEmitter::Scope scope(e);
    Chunk c = chunk(op.getInductionVar(), false);
    scf::YieldOp::create(e.b, e.loc, body(c, op.getRegionIterArgs()));
    return op.getResults();
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

  States share(ArrayRef<Reduction> all, States states) {
    states = shuffle(all, states, std::min(m.across, kWarp));
    if (m.across <= kWarp)
      return states;
    int64_t warps = m.across / kWarp;
    Value number = t.remainder(lane, kWarp), warp = t.quotient(lane, kWarp);
    SmallVector<Value> arrays;
    for (Value v : states)
      arrays.push_back(t.shared(v.getType(), warps));
    t.where(t.isZero(number), [&] {
      for (auto [v, array] : llvm::zip(states, arrays))
        e.store(v, array, warp, v.getType());
    });
    t.barrier();
    // Every group of so many threads reads the states of all warps.
    int64_t group = llvm::PowerOf2Ceil(warps);
    Value from = t.remainder(number, group), exists = t.isLess(from, warps);
    from = t.least(from, warps - 1);
    States none = k.initial(all);
    for (auto [v, array, initial] : llvm::zip(states, arrays, none))
      v = t.choose(exists, e.load(array, from, v.getType()), initial);
    return shuffle(all, states, group);
  }
  /// Among each `count` adjacent threads.
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
    if (llvm::all_of(k.graph.outputs, [](auto &o) { return o.full; }))
      return;
    Value first = m.across == 1 ? Value() : t.isZero(lane);
    t.where(t.both(valid, first), [&] {
      for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
        if (!o.full)
          e.store(e.emit(o.node), pointer, e.emit(o.offset),
                  ir::elementType(o.node->value));
    });
  }

  const Body &k;
  const Mapping &m;
  ScalarEmitter &e;
  Threads &t;
  Value lane;  // of the thread in its row
  Value valid; // whether its row exists; null: always
  std::vector<Chunk> kept;
};

} // namespace

void emitRows(const Body &body) { Rows(body).emit(); }

} // namespace dlc::cuda

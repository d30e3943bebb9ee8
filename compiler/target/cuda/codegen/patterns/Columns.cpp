// SPDX-License-Identifier: Apache-2.0
// A block computes adjacent sums: each thread adds its part of the reduced
// elements to a vector of sums, and stores elements that are outputs; then the
// threads of a sum combine their states in shared memory. The order depends
// only on the shape.
#include "compiler/target/cuda/codegen/patterns/Sums.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

class Columns {
public:
  using States = Body::States;

  explicit Columns(const Body &k)
      : k(k), m(k.map), e(k.e), t(k.threads), sums(k), roots(sums.roots) {
    for (const KernelOutput &o : k.graph.outputs)
      if (o.full)
        roots.push_back(o.node);
  }

  void emit() {
    thread = t.thread();
    part = t.quotient(thread, m.across);
    Value number =
        t.add(t.times(t.block(), m.across), t.remainder(thread, m.across));
    int64_t vectors = m.rows / m.vector;
    if (vectors % m.across) {
      valid = t.isLess(number, vectors);
      number = t.least(number, vectors - 1);
    }
    auto at = k.open(m.outer, t.times(number, m.vector), 1);
    k.open(m.inner, 2);
    e.findLevels();
    e.hoist(roots, 0);
    Lanes columns(e, k.graph, m.outer, at, m.vector, 1);
    columns.load(roots, 1);
    columns.each([&](int64_t) { e.hoist(roots, 1); });
    States states = sum(columns);
    Value first;
    if (parts() > 1) {
      join(states);
      first = t.isZero(part);
    }
    t.where(t.both(valid, first), [&] { sums.store(columns, states); });
  }

private:
  int64_t parts() const { return m.block / m.across; }

  /// Sums the thread's part, for all of its columns in turn.
  States sum(Lanes &columns) {
    auto loop = scf::ForOp::create(e.b, e.loc, part, e.constant(m.row),
                                   e.constant(parts()), sums.initial(m.vector));
    OpBuilder::InsertionGuard guard(e.b);
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    e.b.setInsertionPointToEnd(loop.getBody());
    ScalarEmitter::Scope scope(e);
    k.open(m.inner, loop.getInductionVar(), 2);
    States next = m.condition ? addIfChosen(columns, loop.getRegionIterArgs())
                              : add(columns, loop.getRegionIterArgs());
    scf::YieldOp::create(e.b, e.loc, next);
    return loop.getResults();
  }
  States add(Lanes &columns, ValueRange carried) {
    Lanes elements(&columns);
    elements.load(roots, 2);
    States next;
    elements.each([&](int64_t i) {
      llvm::append_range(next, k.combine(sums.all, sums.of(carried, i)));
    });
    storeFull(elements);
    return next;
  }
  void storeFull(Lanes &elements) {
    for (const KernelOutput &o : k.graph.outputs)
      if (o.full)
        elements.emit(o.node);
    for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
      if (o.full)
        t.where(valid, [&] { elements.store(o, pointer); });
  }

  /// Skips elements that the condition excludes; most are not even loaded.
  States addIfChosen(Lanes &columns, ValueRange carried) {
    Value chosen;
    Lanes(&columns).each([&](int64_t i) {
      if (i == 0)
        chosen = e.emit(m.condition);
    });
    auto branch = scf::IfOp::create(e.b, e.loc, carried.getTypes(), chosen,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToEnd(branch.thenBlock());
    {
      ScalarEmitter::Scope scope(e);
      scf::YieldOp::create(e.b, e.loc, add(columns, carried));
    }
    e.b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(e.b, e.loc, carried);
    return branch.getResults();
  }

  /// Combines states into the threads of part 0, halving the number of parts in
  /// each step.
  void join(States &states) {
    const int64_t half = m.block / 2;
    size_t count = sums.width();
    SmallVector<Value> arrays;
    for (size_t s = 0; s < count; ++s)
      arrays.push_back(t.shared(states[s].getType(), m.vector * half));
    Value isUpper = t.isLess(e.constant(half - 1), thread),
          isLower = t.isLess(thread, half), place = t.remainder(thread, half);
    auto slot = [&](int64_t i, int64_t distance) {
      return t.add(place, e.constant(i * half + distance * m.across));
    };
    auto write = [&](int64_t i, ValueRange values) {
      for (auto [v, array] : llvm::zip(values, arrays))
        e.store(v, array, slot(i, 0), v.getType());
    };
    auto read = [&](int64_t i, int64_t distance) {
      States values;
      for (auto [s, array] : llvm::enumerate(arrays))
        values.push_back(e.load(array, slot(i, distance), states[s].getType()));
      return values;
    };
    t.where(isUpper, [&] {
      for (int64_t i = 0; i < m.vector; ++i)
        write(i, sums.of(states, i));
    });
    t.barrier();
    t.where(isLower, [&] {
      for (int64_t i = 0; i < m.vector; ++i)
        write(i, k.merge(sums.all, sums.of(states, i), read(i, 0)));
    });
    t.barrier();
    for (int64_t step = parts() / 4; step; step /= 2) {
      t.where(t.isLess(part, step), [&] {
        for (int64_t i = 0; i < m.vector; ++i)
          write(i, k.merge(sums.all, read(i, 0), read(i, step)));
      });
      t.barrier();
    }
    for (int64_t i = 0; i < m.vector; ++i)
      for (auto [s, v] : llvm::enumerate(read(i, 0)))
        states[i * count + s] = v;
  }

  const Body &k;
  const Mapping &m;
  ScalarEmitter &e;
  Threads &t;
  const Sums sums;
  SmallVector<const KernelNode *> roots; // summed, or stored meanwhile
  Value thread, part;
  Value valid; // whether its sums exist; null: true
};

} // namespace

void emitColumns(const Body &body) {
  body.map.sparse ? emitSparseColumns(body) : Columns(body).emit();
}

} // namespace dlc::cuda

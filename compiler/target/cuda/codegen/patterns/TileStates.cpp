// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/patterns/TileStates.h"
#include "compiler/dialect/Dlc.h"

using namespace mlir;

namespace dlc::cuda {

TileStates::TileStates(const Body &body) : k(body), m(*body.map.product) {
  for (const KernelNode *node : m.overRows)
    all.emplace_back(k.graph, node);
}

TileStates::States TileStates::none() const {
  States states(firsts(), k.e.number(k.e.b.getF32Type(), 0));
  for (int64_t i = 0; i < m.vector; ++i)
    llvm::append_range(states, k.initial(all));
  return states;
}

void TileStates::combine(States &states, int64_t lane) const {
  const States next = k.combine(all, of(states, lane));
  llvm::copy(next, states.begin() + firsts() + lane * all.size());
}

void TileStates::join(ArrayRef<Value> states, Value column, Value shared,
                      ArrayRef<Value> batch, Value firstColumn) const {
  ScalarEmitter &e = k.e;
  Threads &t = k.threads;
  const Type f32 = e.b.getF32Type();
  const int64_t width = all.size(), columns = m.tiling.columns,
                line = columns / m.vector, sharing = m.tiling.threads() / line;
  Value thread = t.thread(), number = t.quotient(thread, line),
        behind = e.constant(sharing);
  auto slot = [&](Value number, int64_t state, Value column) {
    return t.add(t.times(number, width * columns),
                 t.add(e.constant(state * columns), column));
  };
  for (int64_t i = 0; i < m.vector; ++i) {
    Value at = t.add(column, e.constant(i));
    for (auto [state, v] : llvm::enumerate(of(states, i)))
      e.store(v, shared, slot(number, state, at), f32);
    if (m.first)
      t.where(t.isZero(number),
              [&] { e.store(states[i], shared, slot(behind, 0, at), f32); });
  }
  t.barrier();
  t.where(t.isLess(thread, columns), [&] {
    States sums =
        k.loop(sharing, k.initial(all), [&](Value other, ValueRange carried) {
          States more;
          for (int64_t state = 0; state < width; ++state)
            more.push_back(e.load(shared, slot(other, state, thread), f32));
          return k.merge(all, carried, more);
        });
    Value first =
        m.first ? e.load(shared, slot(behind, 0, thread), f32) : Value();
    store(sums, first, batch, t.add(firstColumn, thread));
  });
}

void TileStates::store(ValueRange states, Value first, ArrayRef<Value> batch,
                       Value column) const {
  SmallVector<LoopGroup> groups(m.batch.begin(), m.batch.end());
  groups.push_back(m.column);
  SmallVector<Value> position(batch);
  position.push_back(column);
  Lanes lanes(k.e, k.graph, groups, position, 1, 1);
  lanes.each([&](int64_t) {
    k.setResults(all, states);
    if (first)
      k.e.set(m.first, first);
  });
  SmallVector<const KernelNode *> roots;
  for (const KernelOutput &o : k.graph.outputs)
    if (o.perColumn)
      roots.push_back(o.node);
  lanes.load(roots, 1);
  for (const KernelNode *node : roots)
    lanes.emit(node);
  for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
    if (o.perColumn)
      lanes.store(o, pointer);
}

} // namespace dlc::cuda

// SPDX-License-Identifier: Apache-2.0
// A thread computes adjacent elements: it loads all inputs before it stores, as
// outputs may alias inputs.
#include "compiler/target/cuda/codegen/threads/Body.h"

using namespace mlir;

namespace dlc::cuda {

static void emitElements(const Body &k, Value first, int64_t width) {
  SmallVector<const KernelNode *> roots;
  for (const KernelOutput &o : k.graph.outputs)
    roots.push_back(o.node);
  auto at = k.open(k.map.outer, first, 1);
  k.e.findLevels();
  k.e.hoist(roots, 0);
  Lanes lanes(k.e, k.graph, k.map.outer, at, width, 1);
  lanes.load(roots, 1);
  for (const KernelNode *node : roots)
    lanes.emit(node);
  for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
    lanes.store(o, pointer);
}

/// For as many first elements as the launch passes.
static void emitCounted(const Body &k, Value number) {
  const Mapping &m = k.map;
  Threads &t = k.threads;
  Value vectors = t.quotient(k.count, m.vector);
  Value hasVector = t.isLess(number, vectors);
  t.where(hasVector,
          [&] { emitElements(k, t.times(number, m.vector), m.vector); });
  if (m.vector == 1)
    return;
  Value last = t.add(number, t.times(vectors, m.vector - 1)),
        none = t.isLess(number, 0);
  t.where(t.choose(hasVector, none, t.isLess(last, k.count)),
          [&] { emitElements(k, last, 1); });
}

void emitElementwise(const Body &k) {
  const Mapping &m = k.map;
  Threads &t = k.threads;
  Value number = t.add(t.times(t.block(), m.block), t.thread());
  if (k.count)
    return emitCounted(k, number);
  int64_t vectors = m.rows / m.vector, rest = m.rows % m.vector;
  bool exact = !rest && vectors == m.grid * m.block;
  t.where(exact ? Value() : t.isLess(number, vectors),
          [&] { emitElements(k, t.times(number, m.vector), m.vector); });
  if (!rest)
    return;
  // Further threads handle one remaining element each.
  Value low = t.isLess(number, vectors),
        high = t.isLess(number, vectors + rest);
  Value none = t.isLess(number, 0);
  t.where(t.choose(low, none, high), [&] {
    Value skipped = k.e.constant(vectors * (m.vector - 1));
    emitElements(k, t.add(number, skipped), 1);
  });
}

} // namespace dlc::cuda

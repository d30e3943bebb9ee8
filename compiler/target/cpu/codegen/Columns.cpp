// SPDX-License-Identifier: Apache-2.0
// An item is a block of adjacent kept elements: each reduced element updates
// the block's states, vectors in stack arrays that stay in the L1 cache. Long
// sums are sums of short ones, since the rounding error grows with the root of
// a chain's length.
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cpu/codegen/Loops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc {
namespace {

constexpr int64_t kShort = 512; // elements of a part of a long sum

class Columns {
public:
  using Values = Loops::Values;

  Columns(const KernelGraph &graph, const KernelSchedule &schedule,
          ScalarEmitter &e, ArrayRef<Value> outputs, Block *entry)
      : graph(graph), schedule(schedule), e(e), loops(e), outputs(outputs),
        entry(entry) {
    for (const auto &node : graph.nodes)
      if (node->kind == KernelNode::Reduce) {
        reductions.emplace_back(graph, node.get());
        llvm::append_range(types, reductions.back().types(e));
      }
  }

  void emit(Value item) {
    Value number = loops.decodeItem(schedule, item);
    Loops::Dim tile = loops.block(schedule.blocked(), schedule.block, number);
    first = tile.first;
    states = newStates(tile);
    if (graph.extent(/*reduced=*/true) <= kUndivided)
      reduce(wholeFrom(0), tile);
    else
      reduceInParts(tile);
    finish(tile);
  }

private:
  Values newStates(const Loops::Dim &tile) {
    Values arrays;
    for (Type type : types)
      arrays.push_back(stackArray(e, entry, type, schedule.block));
    clear(arrays, tile);
    return arrays;
  }
  void clear(ValueRange arrays, const Loops::Dim &tile) {
    loops.nest(tile, {}, {}, Loops::Tile, [&](ValueRange) {
      Values state;
      for (const Reduction &r : reductions)
        llvm::append_range(state, r.initial(e));
      save(state, arrays);
      return Values();
    });
  }
  SmallVector<Loops::Dim> wholeFrom(size_t group) {
    SmallVector<Loops::Dim> dims;
    for (const LoopGroup &inner : ArrayRef(schedule.inner).drop_front(group))
      dims.push_back(loops.whole(inner));
    return dims;
  }

  /// Updates the states by the elements of `dims`.
  void reduce(SmallVector<Loops::Dim> dims, const Loops::Dim &tile) {
    dims.push_back(tile);
    SmallVector<const KernelNode *> roots;
    for (const Reduction &r : reductions)
      roots.push_back(r.node->children.front());
    for (const KernelOutput &o : graph.outputs)
      if (o.full)
        roots.push_back(o.node);
    loops.nest(dims, roots, {}, Loops::Tile, [&](ValueRange) {
      Values state = restore(states), next;
      for (ValueRange now = state; const Reduction &r : reductions) {
        llvm::append_range(next, r.combine(e, now.take_front(r.width())));
        now = now.drop_front(r.width());
      }
      save(next, states);
      store(/*full=*/true);
      return Values();
    });
  }

  /// Each part has about kShort elements: some values of a group's loop, with
  /// all of those inside of it.
  void reduceInParts(const Loops::Dim &tile) {
    size_t group = schedule.inner.size() - 1;
    int64_t inside = 1;
    for (; group > 0 && inside * schedule.inner[group].size < kShort; --group)
      inside *= schedule.inner[group].size;
    const LoopGroup &divided = schedule.inner[group];
    const int64_t size = std::clamp<int64_t>(kShort / inside, 1, divided.size);
    Values totals = newStates(tile);
    forEachAround(group, 0, [&] {
      Value count = e.constant((divided.size - 1) / size + 1);
      loops.loop(e.constant(0), count, {}, Loops::Between,
                 [&](Value number, ValueRange) {
                   clear(states, tile);
                   auto dims = wholeFrom(group);
                   dims.front() = loops.block(divided, size, number);
                   reduce(dims, tile);
                   addTo(totals, tile);
                   return Values();
                 });
    });
    states = totals;
  }
  /// Calls f in the loops around a group's.
  void forEachAround(size_t group, size_t at, llvm::function_ref<void()> f) {
    if (at == group)
      return f();
    loops.loop(e.constant(0), e.constant(schedule.inner[at].size), {},
               Loops::Between, [&](Value i, ValueRange) {
                 e.setLoop(schedule.inner[at], i, 0);
                 forEachAround(group, at + 1, f);
                 return Values();
               });
  }
  void addTo(ValueRange totals, const Loops::Dim &tile) {
    loops.nest(tile, {}, {}, Loops::Tile, [&](ValueRange) {
      save(merged(e, reductions, restore(totals), restore(states)), totals);
      return Values();
    });
  }
  void finish(const Loops::Dim &tile) {
    loops.nest(tile, {}, {}, Loops::Tile, [&](ValueRange) {
      Values state = restore(states);
      for (ValueRange now = state; const Reduction &r : reductions) {
        e.set(r.node, r.result(e, now.take_front(r.width())));
        now = now.drop_front(r.width());
      }
      store(/*full=*/false);
      return Values();
    });
  }
  /// Stores outputs that have all elements, or those of the sums.
  void store(bool full) {
    for (const KernelOutput &o : graph.outputs)
      if (o.full == full)
        e.emit(o.node);
    for (auto [o, pointer] : llvm::zip(graph.outputs, outputs))
      if (o.full == full)
        e.store(e.emit(o.node), pointer, e.emit(o.offset),
                ir::elementType(o.node->value));
  }
  Value position() {
    Value j = e.emit(IndexForm::variable(schedule.blocked().loops.back()));
    return arith::SubIOp::create(e.b, e.loc, j, first,
                                 arith::IntegerOverflowFlags::nsw);
  }
  void save(ValueRange state, ValueRange arrays) {
    for (auto [v, array] : llvm::zip(state, arrays))
      e.store(v, array, position(), v.getType());
  }
  Values restore(ValueRange arrays) {
    Values state;
    for (auto [type, array] : llvm::zip(types, arrays))
      state.push_back(e.load(array, position(), type));
    return state;
  }

  const KernelGraph &graph;
  const KernelSchedule &schedule;
  ScalarEmitter &e;
  Loops loops;
  ArrayRef<Value> outputs;
  Block *entry;
  SmallVector<Reduction> reductions;
  SmallVector<Type> types;
  Values states; // arrays
  Value first;
};

} // namespace

void emitColumns(const KernelGraph &graph, const KernelSchedule &schedule,
                 ScalarEmitter &e, ArrayRef<Value> outputs, Value item,
                 Block *entry) {
  Columns(graph, schedule, e, outputs, entry).emit(item);
}

} // namespace dlc

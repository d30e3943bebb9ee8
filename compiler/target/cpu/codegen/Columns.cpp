// SPDX-License-Identifier: Apache-2.0
// An item is a block of adjacent kept elements: each reduced element updates
// the block's states, vectors in stack arrays that stay in the L1 cache.
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cpu/codegen/Loops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc {
namespace {

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
    for (Type type : types)
      arrays.push_back(stackArray(e, entry, type, schedule.block));
    first = tile.first;

    loops.nest(tile, {}, {}, Loops::Tile, [&](ValueRange) {
      Values state;
      for (const Reduction &r : reductions)
        llvm::append_range(state, r.initial(e));
      save(state);
      return Values();
    });

    SmallVector<Loops::Dim> dims;
    SmallVector<const KernelNode *> roots;
    for (const LoopGroup &group : schedule.inner)
      dims.push_back(loops.whole(group));
    dims.push_back(tile);
    for (const Reduction &r : reductions)
      roots.push_back(r.node->children.front());
    for (const KernelOutput &o : graph.outputs)
      if (o.full)
        roots.push_back(o.node);
    loops.nest(dims, roots, {}, Loops::Tile, [&](ValueRange) {
      Values state = restore(), next;
      for (ValueRange now = state; const Reduction &r : reductions) {
        llvm::append_range(next, r.combine(e, now.take_front(r.width())));
        now = now.drop_front(r.width());
      }
      save(next);
      store(/*full=*/true);
      return Values();
    });

    finish(tile);
  }

private:
  void finish(const Loops::Dim &tile) {
    loops.nest(tile, {}, {}, Loops::Tile, [&](ValueRange) {
      Values state = restore();
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
  void save(ValueRange state) {
    for (auto [v, array] : llvm::zip(state, arrays))
      e.store(v, array, position(), v.getType());
  }
  Values restore() {
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
  Values arrays;
  Value first;
};

} // namespace

void emitColumns(const KernelGraph &graph, const KernelSchedule &schedule,
                 ScalarEmitter &e, ArrayRef<Value> outputs, Value item,
                 Block *entry) {
  Columns(graph, schedule, e, outputs, entry).emit(item);
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Elements whose results are contiguous along one loop and some operands along
// another: a block handles a square of both loops and transposes these operands
// in shared memory, so that all accesses are of adjacent elements.
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cuda/codegen/threads/Body.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

class Transposed {
public:
  explicit Transposed(const Body &k)
      : k(k), m(k.map), e(k.e), t(k.threads), from(m.outer[*m.transposed]),
        to(m.outer.back()) {
    for (const KernelOutput &o : k.graph.outputs)
      roots.push_back(o.node);
    loads = transposedLoads(k.graph, roots, from, to);
  }

  void emit() {
    place();
    for (const KernelNode *load : loads)
      squares.push_back(t.shared(typeOf(load), kSquare * kLine));
    // Along `from`: line `low` of the square is one value of `to`.
    eachPart([&](Value high) {
      open(t.add(firstFrom, low), t.add(firstTo, high));
      for (auto [load, square] : llvm::zip(loads, squares))
        e.store(e.emit(load), square, t.add(t.times(high, kLine), low),
                typeOf(load));
    });
    t.barrier();
    eachPart([&](Value high) {
      Value at = t.add(firstFrom, high), along = t.add(firstTo, low), valid;
      if (from.size % kSquare)
        valid = t.isLess(at, from.size);
      if (to.size % kSquare)
        valid = t.both(valid, t.isLess(along, to.size));
      t.where(valid, [&] {
        open(at, along);
        for (auto [load, square] : llvm::zip(loads, squares))
          e.set(load,
                e.load(square, t.add(t.times(low, kLine), high), typeOf(load)));
        store();
      });
    });
  }

private:
  /// Elements of a line, with padding against bank conflicts in both
  /// directions.
  static constexpr int64_t kLine = kSquare + 1;

  static Type typeOf(const KernelNode *load) {
    return computeType(ir::elementType(load->value));
  }

  void place() {
    Value number = t.block(), thread = t.thread();
    low = t.remainder(thread, kSquare);
    part = t.quotient(thread, kSquare);
    auto first = [&](const LoopGroup &group) {
      int64_t count = (group.size + kSquare - 1) / kSquare;
      Value at = t.times(t.remainder(number, count), kSquare);
      number = t.quotient(number, count);
      return at;
    };
    firstTo = first(to);
    firstFrom = first(from);
    SmallVector<LoopGroup> others;
    for (size_t i = 0; i + 1 < m.outer.size(); ++i)
      if ((int64_t)i != *m.transposed)
        others.push_back(m.outer[i]);
    k.open(others, number, 1);
    k.open({from, to}, 1);
    e.findLevels();
    e.hoist(roots, 0);
  }
  /// Opens loops at these values, clamped to the last.
  void open(Value atFrom, Value atTo) {
    auto within = [&](Value v, const LoopGroup &group) {
      return group.size % kSquare ? t.least(v, group.size - 1) : v;
    };
    e.setLoop(from, within(atFrom, from), 1);
    e.setLoop(to, within(atTo, to), 1);
  }
  void eachPart(llvm::function_ref<void(Value)> body) {
    for (int64_t i = 0; i < kSquare; i += m.block / kSquare) {
      ScalarEmitter::Scope scope(e);
      body(t.add(part, e.constant(i)));
    }
  }
  void store() {
    SmallVector<Value> values;
    for (const KernelNode *node : roots)
      values.push_back(e.emit(node));
    for (auto [o, pointer, v] : llvm::zip(k.graph.outputs, k.outputs, values))
      e.store(v, pointer, e.emit(o.offset), ir::elementType(o.node->value));
  }

  const Body &k;
  const Mapping &m;
  ScalarEmitter &e;
  Threads &t;
  const LoopGroup &from, &to;
  SmallVector<const KernelNode *> roots, loads;
  SmallVector<Value> squares;
  Value low, part, firstFrom, firstTo;
};

} // namespace

void emitTransposed(const Body &body) { Transposed(body).emit(); }

} // namespace dlc::cuda

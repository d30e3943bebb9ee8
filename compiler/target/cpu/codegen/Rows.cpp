// SPDX-License-Identifier: Apache-2.0
// An item is a row (or, without reductions, a block of elements): one loop nest
// per depth of reductions, then one for outputs that have the row's elements.
//
// A costly value that several of these loops need is stored in a row buffer on
// the stack; cheap ones are recomputed. Softmax of 1024 columns: 3 loops; the
// second stores exp(x - max), the third divides it.
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cpu/codegen/Loops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace dlc {
namespace {

constexpr int64_t kBufferElements = 4096;
constexpr size_t kBuffers = 4;

/// Whether storing its result is cheaper than recomputing it.
bool isWorthKeeping(Operation *op) {
  return isCostly(op) && op->getNumResults() == 1;
}

class Rows {
public:
  using Values = Loops::Values;

  Rows(const KernelGraph &graph, const KernelSchedule &schedule,
       ScalarEmitter &e, ArrayRef<Value> outputs, Block *entry)
      : graph(graph), schedule(schedule), e(e), loops(e), outputs(outputs),
        entry(entry), firstLoop(graph.nodes.size(), -1) {}

  void emit(Value item) {
    Value block = loops.decodeItem(schedule, item);
    for (const LoopGroup &group : schedule.inner)
      dims.push_back(loops.whole(group));
    if (block)
      dims.front() = loops.block(schedule.inner.front(), schedule.block, block);
    planBuffers();
    for (unsigned depth = 1; depth <= graph.depth; ++depth)
      reduce(depth);
    storeFull();
    for (auto [o, pointer] : llvm::zip(graph.outputs, outputs))
      if (!o.full)
        store(o, pointer);
  }

private:
  //===--- what is kept between loops -------------------------------------===//

  struct Buffer {
    Value pointer;
    unsigned filledBy;
  };

  SmallVector<const KernelNode *> roots(unsigned loop) const {
    SmallVector<const KernelNode *> r;
    if (loop < graph.depth) {
      for (const auto &node : graph.nodes)
        if (node->kind == KernelNode::Reduce && node->depth == loop + 1)
          r.push_back(node->children.front());
    } else {
      for (const KernelOutput &o : graph.outputs)
        if (o.full)
          r.push_back(o.node);
    }
    return r;
  }

  void planBuffers() {
    markCostly();
    int64_t row = graph.extent(/*reduced=*/true);
    if (!graph.depth || row > kBufferElements)
      return;
    for (unsigned loop = 0; loop <= graph.depth; ++loop) {
      llvm::SmallPtrSet<const KernelNode *, 32> seen;
      auto stack = roots(loop);
      while (!stack.empty()) {
        const KernelNode *node = stack.pop_back_val();
        if (!node->varies || !seen.insert(node).second)
          continue;
        int first = firstLoop[node->id];
        if (first >= 0 && first < (int)loop && costly[node->id] &&
            keep(node, first, row))
          continue;
        if (first < 0)
          firstLoop[node->id] = loop;
        if (node->kind != KernelNode::Pad && node->kind != KernelNode::Concat)
          llvm::append_range(stack, node->children);
      }
    }
  }
  void markCostly() {
    costly.resize(graph.nodes.size());
    for (const auto &node : graph.nodes)
      costly[node->id] =
          node->varies &&
          ((node->kind == KernelNode::Apply && isWorthKeeping(node->op())) ||
           llvm::any_of(node->children,
                        [&](auto *c) { return costly[c->id]; }));
  }
  bool keep(const KernelNode *node, unsigned first, int64_t row) {
    if (buffers.count(node))
      return true;
    Type type = computeType(ir::elementType(node->value));
    if (buffers.size() == kBuffers || !isa<FloatType>(type))
      return false;
    buffers[node] = {stackArray(e, entry, type, row), first};
    return true;
  }
  Value position() {
    IndexForm form;
    int64_t stride = 1;
    for (const LoopGroup &group : llvm::reverse(schedule.inner)) {
      form.add(group.loops.back(), stride);
      stride *= group.size;
    }
    return e.emit(form);
  }
  /// At the start of a loop body: reads values that earlier loops stored.
  void readBuffers(unsigned loop) {
    for (auto &[node, buffer] : buffers)
      if (buffer.filledBy < loop)
        e.set(node, e.load(buffer.pointer, position(), bufferType(node)));
  }
  void fillBuffers(unsigned loop) {
    for (auto &[node, buffer] : buffers)
      if (buffer.filledBy == loop)
        e.store(e.emit(node), buffer.pointer, position(), bufferType(node));
  }
  Type bufferType(const KernelNode *node) {
    return computeType(ir::elementType(node->value));
  }

  //===--- the loops ------------------------------------------------------===//

  void reduce(unsigned depth) {
    SmallVector<Reduction> reductions;
    Values state;
    for (const auto &node : graph.nodes)
      if (node->kind == KernelNode::Reduce && node->depth == depth) {
        reductions.emplace_back(graph, node.get());
        llvm::append_range(state, reductions.back().initial(e));
      }
    unsigned loop = depth - 1;
    auto body = [&](ValueRange now) {
      Values next;
      readBuffers(loop);
      for (const Reduction &r : reductions) {
        llvm::append_range(next, r.combine(e, now.take_front(r.width())));
        now = now.drop_front(r.width());
      }
      fillBuffers(loop);
      return next;
    };
    auto done = reduceFrom(0, reductions, roots(loop), state, body);
    for (ValueRange rest = done; const Reduction &r : reductions) {
      e.set(r.node, r.result(e, rest.take_front(r.width())));
      rest = rest.drop_front(r.width());
    }
  }
  /// The states of dimensions `at` and further. With many elements the inner
  /// ones have states of their own: a sum that grows large would round each
  /// element of the next row.
  Values reduceFrom(size_t at, ArrayRef<Reduction> reductions,
                    ArrayRef<const KernelNode *> roots, const Values &initial,
                    Loops::Body body) {
    if (at + 1 == dims.size() || graph.extent(/*reduced=*/true) <= kUndivided)
      return loops.nest(ArrayRef(dims).drop_front(at), roots, initial,
                        Loops::Innermost, body);
    const Loops::Dim &dim = dims[at];
    return loops.loop(
        e.constant(0), dim.count, initial, Loops::Between,
        [&](Value i, ValueRange now) {
          if (dim.first)
            i = arith::AddIOp::create(e.b, e.loc, dim.first, i,
                                      arith::IntegerOverflowFlags::nsw);
          e.setLoop(dim.group, i, 0);
          Values part = reduceFrom(at + 1, reductions, roots, initial, body);
          return merged(e, reductions, now, part);
        });
  }
  void storeFull() {
    if (llvm::none_of(graph.outputs, [](auto &o) { return o.full; }))
      return;
    auto kind = e.masks ? Loops::Masked : Loops::Innermost;
    loops.nest(dims, roots(graph.depth), {}, kind, [&](ValueRange) {
      readBuffers(graph.depth);
      // Computes all values before storing, as outputs may alias inputs.
      for (const KernelOutput &o : graph.outputs)
        if (o.full)
          e.emit(o.node);
      for (auto [o, pointer] : llvm::zip(graph.outputs, outputs))
        if (o.full)
          store(o, pointer);
      return Values();
    });
  }
  void store(const KernelOutput &o, Value pointer) {
    Value v = e.emit(o.node), at = e.emit(o.offset);
    e.where(e.isStored(o),
            [&] { e.store(v, pointer, at, ir::elementType(o.node->value)); });
  }

  const KernelGraph &graph;
  const KernelSchedule &schedule;
  ScalarEmitter &e;
  Loops loops;
  ArrayRef<Value> outputs;
  Block *entry;
  SmallVector<Loops::Dim> dims;
  std::vector<bool> costly;
  std::vector<int> firstLoop;
  llvm::MapVector<const KernelNode *, Buffer> buffers;
};

} // namespace

void emitRows(const KernelGraph &graph, const KernelSchedule &schedule,
              ScalarEmitter &e, ArrayRef<Value> outputs, Value item,
              Block *entry) {
  Rows(graph, schedule, e, outputs, entry).emit(item);
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// A block computes a tile of a matrix product on tensor cores. Operands go
// through shared memory in pipeline stages: while one pair of tiles is
// multiplied, the next one is loaded by asynchronous copies or, if a prologue
// must be computed, through registers. The sums go through shared memory, too,
// so that each thread computes the epilogue for vectors of adjacent columns.
//
// If results are reduced over the rows of a product, a block computes all row
// tiles of its columns, one after another: each thread reduces the elements of
// its columns, and threads with the same columns combine their states at the
// end, in order.
//
// Operands are zero beyond the depth; rows and columns beyond the product are
// computed from the last ones and not stored. The order of a sum depends only
// on the shape.
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cuda/codegen/patterns/TileStates.h"
#include "compiler/target/cuda/codegen/threads/TensorCore.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

/// Registers beside the sums of a thread, in bytes.
constexpr int64_t kMostLoadedBytes = 160;

class Tiles {
public:
  using Sums = SmallVector<Value>;
  using States = Body::States;
  using Roots = SmallVector<const KernelNode *>;

  explicit Tiles(const Body &k)
      : k(k), m(*k.map.product), states(k), e(k.e), t(k.threads),
        half(ir::elementType(m.sum->value)), core(e, t, half) {
    groups.assign(m.batch.begin(), m.batch.end());
    groups.push_back(m.row);
    groups.push_back(m.column);
    for (const KernelOutput &o : k.graph.outputs)
      if (!o.perColumn)
        stored.push_back(o.node);
    needed = stored;
    for (const KernelNode *node : m.overRows)
      needed.push_back(node->children.front());
    const int64_t bytes = loadedBytes();
    isLoadedFirst = bytes > 0 && bytes <= kMostLoadedBytes &&
                    guardedLoads(k.graph, needed, m.column).empty();
  }

  void emit() {
    place();
    shared = t.shared(e.b.getI16Type(), m.sharedBytes() / 2);
    if (!m.overRows.empty())
      return reduceRows();
    computeTile({}, [](States &) {});
  }

private:
  struct Operand {
    const OperandMapping *map;
    const LoopGroup *outer;
    Value first; // the block's first row or column
    Value base;  // address of its tiles in shared memory
    int64_t stride, elements;
    SmallVector<LoopGroup> groups; // the contiguous one is last
  };
  /// A vector that is being copied to a tile.
  struct Pending {
    Lanes lanes;
    Value inside; // null: within the depth
    Value offset; // in the tile
  };

  //===--- places ---------------------------------------------------------===//

  void place() {
    thread = t.thread();
    Value warp = t.quotient(thread, kWarp);
    warpRow = t.times(t.quotient(warp, m.tiling.across), m.tiling.warpRows());
    warpColumn =
        t.times(t.remainder(warp, m.tiling.across), m.tiling.warpColumns());
    Value number = t.block();
    auto tiles = [&](int64_t size, int64_t tile) {
      int64_t count = (size + tile - 1) / tile;
      Value first = t.times(t.remainder(number, count), tile);
      number = t.quotient(number, count);
      return first;
    };
    firstColumn = tiles(m.shape.columns, m.tiling.columns);
    if (m.overRows.empty())
      firstRow = tiles(m.shape.rows, m.tiling.rows);
    batch = k.open(m.batch, number, 1);
    for (const LoopGroup *group : {&m.row, &m.column, &m.depth})
      e.setLoop(*group, Value(), 1);
    e.findLevels();
    SmallVector<const KernelNode *> roots{m.left.node, m.right.node};
    llvm::append_range(roots, besidesSum());
    e.hoist(roots, 0);
  }
  /// Inputs of the outputs other than the sum.
  SmallVector<const KernelNode *> besidesSum() const {
    llvm::SmallSetVector<const KernelNode *, 16> reached;
    for (const KernelOutput &o : k.graph.outputs)
      reached.insert(o.node);
    SmallVector<const KernelNode *> found;
    for (size_t i = 0; i < reached.size(); ++i) {
      const KernelNode *node = reached[i];
      if (!node->depth)
        found.push_back(node);
      else if (node != m.sum && node != m.first)
        reached.insert(node->children.begin(), node->children.end());
    }
    return found;
  }
  Operand prepare(const OperandMapping &map, const LoopGroup &outer,
                  Value first, int64_t offset) {
    Operand o{&map,          &outer,          first, at(offset),
              m.stride(map), m.elements(map), {}};
    o.groups.append(m.batch.begin(), m.batch.end());
    o.groups.push_back(map.depthIsFast ? outer : m.depth);
    o.groups.push_back(map.depthIsFast ? m.depth : outer);
    return o;
  }
  Value at(int64_t offset) {
    return e.element(shared, e.constant(offset), e.b.getI16Type());
  }

  //===--- operands -------------------------------------------------------===//

  /// Starts to load tile `step` into slot `step` % kSlots.
  void start(const Operand &o, Value step, SmallVectorImpl<Pending> &pending) {
    const OperandMapping &map = *o.map;
    int64_t tile = o.outer == &m.row ? m.tiling.rows : m.tiling.columns,
            line = (map.depthIsFast ? m.tiling.depth : tile) / map.vector,
            all = tile * m.tiling.depth / map.vector,
            threads = m.tiling.threads();
    Value slot = t.times(t.remainder(step, kSlots), o.elements);
    for (int64_t i = 0; i < all; i += threads) {
      Value number = t.add(thread, e.constant(i)),
            slow = t.quotient(number, line),
            fast = t.times(t.remainder(number, line), map.vector);
      Value offset = t.add(slot, t.add(t.times(slow, o.stride), fast));
      Value depth = t.add(t.times(step, m.tiling.depth),
                          map.depthIsFast ? fast : slow),
            outer = t.add(o.first, map.depthIsFast ? slow : fast), inside;
      if (o.outer->size % tile)
        outer =
            t.least(outer, o.outer->size - (map.depthIsFast ? 1 : map.vector));
      if (m.depth.size % m.tiling.depth) {
        inside = t.isLess(depth, m.depth.size);
        depth =
            t.least(depth, m.depth.size - (map.depthIsFast ? map.vector : 1));
      }
      auto position = batch;
      position.push_back(map.depthIsFast ? outer : depth);
      position.push_back(map.depthIsFast ? depth : outer);
      if (map.isCopied) {
        copy(o, position, offset, inside);
        continue;
      }
      positions.push_back(std::make_unique<SmallVector<Value>>(position));
      pending.push_back(
          {Lanes(e, k.graph, o.groups, *positions.back(), map.vector, 1),
           inside, e.element(o.base, offset, e.b.getI16Type())});
      pending.back().lanes.load(map.node, 1);
    }
  }
  void copy(const Operand &o, ArrayRef<Value> position, Value offset,
            Value inside) {
    Type storage = e.b.getI16Type();
    Value from;
    Lanes(e, k.graph, o.groups, position, 1, 1).each([&](int64_t) {
      const KernelNode *load = o.map->node;
      from = e.element(e.pointer(load->value), e.emit(load->index), storage);
    });
    core.copy(e.element(o.base, offset, storage), from, 2 * o.map->vector,
              inside);
  }
  void land(const Operand &o, MutableArrayRef<Pending> pending) {
    OpBuilder &b = e.b;
    int64_t width = o.map->vector;
    auto wide = VectorType::get({width}, b.getF32Type()),
         narrow = VectorType::get({width}, half);
    for (Pending &p : pending) {
      Value all = LLVM::UndefOp::create(b, e.loc, wide);
      p.lanes.each([&](int64_t i) {
        Value at = LLVM::ConstantOp::create(b, e.loc, b.getI32Type(), i);
        all = LLVM::InsertElementOp::create(b, e.loc, all, e.emit(o.map->node),
                                            at);
      });
      if (p.inside)
        all =
            t.choose(p.inside, all,
                     arith::ConstantOp::create(b, e.loc, b.getZeroAttr(wide)));
      all = arith::TruncFOp::create(b, e.loc, narrow, all);
      LLVM::StoreOp::create(b, e.loc, all, p.offset, 2 * width);
    }
  }

  /// Loads both operands of tile `step`; `between` runs in the meantime.
  void bring(Value step, llvm::function_ref<void()> between) {
    SmallVector<Pending> ofLeft, ofRight;
    start(left, step, ofLeft);
    start(right, step, ofRight);
    core.commit();
    between();
    land(left, ofLeft);
    land(right, ofRight);
  }
  void arrive() {
    core.wait(0);
    t.barrier();
  }

  //===--- products -------------------------------------------------------===//

  Sums multiplyAll() {
    int64_t count = m.tiling.warpRows() / 16 * (m.tiling.warpColumns() / 8),
            steps = m.tiling.steps(m.shape);
    Sums sums(count * 4, e.number(e.b.getF32Type(), 0));
    if (!steps)
      return sums;
    bring(e.constant(0), [] {});
    auto loop = scf::ForOp::create(e.b, e.loc, e.constant(0),
                                   e.constant(steps - 1), e.constant(1), sums);
    {
      OpBuilder::InsertionGuard guard(e.b);
      if (!loop.getBody()->empty())
        loop.getBody()->back().erase();
      e.b.setInsertionPointToEnd(loop.getBody());
      ScalarEmitter::Scope scope(e);
      Value step = loop.getInductionVar();
      arrive();
      Sums next;
      bring(t.add(step, e.constant(1)),
            [&] { next = multiply(step, loop.getRegionIterArgs()); });
      scf::YieldOp::create(e.b, e.loc, next);
    }
    arrive();
    return multiply(e.constant(steps - 1), loop.getResults());
  }
  Sums multiply(Value step, ValueRange carried) {
    auto matrix = [&](const Operand &o) {
      Value slot = t.times(t.remainder(step, kSlots), o.elements);
      return SharedMatrix{e.element(o.base, slot, e.b.getI16Type()), o.stride,
                          o.map->depthIsFast};
    };
    SharedMatrix a = matrix(left), b = matrix(right);
    Sums sums(carried);
    for (int64_t depth = 0; depth < m.tiling.depth; depth += 16) {
      SmallVector<TensorCore::Registers> columns;
      for (int64_t c = 0; c < m.tiling.warpColumns(); c += 16)
        columns.push_back(core.right(b, warpColumn, c, depth));
      auto *sum = sums.begin();
      for (int64_t r = 0; r < m.tiling.warpRows(); r += 16) {
        auto rows = core.left(a, warpRow, r, depth);
        for (auto &pair : columns)
          for (int64_t i = 0; i < 2; ++i, sum += 4)
            llvm::copy(core.multiply(rows, ArrayRef(pair).slice(2 * i, 2),
                                     ValueRange(ArrayRef(sum, 4))),
                       sum);
      }
    }
    return sums;
  }

  //===--- results --------------------------------------------------------===//

  /// Stores the sums in shared memory, in place of the operands.
  void stage(ValueRange sums) {
    t.barrier();
    OpBuilder &b = e.b;
    Value lane = core.lane();
    Value row = t.add(warpRow, t.quotient(lane, 4)),
          column = t.add(warpColumn, t.times(t.remainder(lane, 4), 2));
    Value first = t.add(t.times(row, m.sumStride()), column);
    size_t next = 0;
    for (int64_t r = 0; r < m.tiling.warpRows(); r += 16)
      for (int64_t c = 0; c < m.tiling.warpColumns(); c += 8)
        for (int64_t low : {0, 8}) {
          Value pair = LLVM::UndefOp::create(
              b, e.loc, VectorType::get({2}, b.getF32Type()));
          for (int64_t i = 0; i < 2; ++i) {
            Value at = LLVM::ConstantOp::create(b, e.loc, b.getI32Type(), i);
            pair =
                LLVM::InsertElementOp::create(b, e.loc, pair, sums[next++], at);
          }
          Value at = t.add(first, e.constant((r + low) * m.sumStride() + c));
          LLVM::StoreOp::create(b, e.loc, pair,
                                e.element(shared, at, b.getF32Type()), 8);
        }
    t.barrier();
  }

  /// Threads that share a row of the tile, each for a vector.
  int64_t line() const { return m.tiling.columns / m.vector; }

  /// A vector of the tile that a thread computes from its sums.
  struct Turn {
    Lanes lanes;
    Value from;  // offset of its sums in the tile
    Value valid; // null: it is within the product
  };
  /// Number `turn` of the thread; beyond the product it has the last elements.
  Turn turnAt(Value turn) {
    Value number = t.add(thread, t.times(turn, m.tiling.threads()));
    Value r = t.quotient(number, line()),
          c = t.times(t.remainder(number, line()), m.vector);
    Value row = t.add(firstRow, r), column = t.add(firstColumn, c), valid;
    if (m.shape.rows % m.tiling.rows) {
      valid = t.isLess(row, m.shape.rows);
      row = t.least(row, m.shape.rows - 1);
    }
    if (m.shape.columns % m.tiling.columns) {
      valid = t.both(valid, t.isLess(column, m.shape.columns));
      column = t.least(column, m.shape.columns - m.vector);
    }
    auto position = batch;
    position.push_back(row);
    position.push_back(column);
    return {Lanes(e, k.graph, groups, position, m.vector, 1),
            t.add(t.times(r, m.sumStride()), c), valid};
  }
  /// Loads what the turn needs besides its sums.
  void load(Turn &turn) { turn.lanes.load(needed, 1); }
  void finish(Turn &turn, States &now) {
    SmallVector<Value> sums = sumsAt(turn.from);
    turn.lanes.each([&](int64_t i) {
      e.set(m.sum, sums[i]);
      if (m.first)
        e.set(m.first, now[i]);
    });
    if (!isLoadedFirst)
      load(turn);
    for (const KernelNode *node : stored)
      turn.lanes.emit(node);
    turn.lanes.each([&](int64_t i) { states.combine(now, i); });
    for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
      if (!o.perColumn)
        turn.lanes.store(o, pointer);
  }

  /// Computes the tile at `firstRow`: products, then what is computed from
  /// them. If registers suffice, the thread's loads for the latter are started
  /// first, so that they take place at the same time; `staged` runs in between.
  States computeTile(ValueRange carried,
                     llvm::function_ref<void(States &)> staged) {
    left = prepare(m.left, m.row, firstRow, 0);
    right =
        prepare(m.right, m.column, firstColumn, kSlots * m.elements(m.left));
    std::vector<Turn> turns;
    for (int64_t i = 0; isLoadedFirst && i < turnsOfThread(); ++i) {
      turns.push_back(turnAt(e.constant(i)));
      load(turns.back());
    }
    stage(multiplyAll());
    States next(carried);
    staged(next);
    for (Turn &turn : turns)
      t.where(turn.valid, [&] { finish(turn, next); });
    if (isLoadedFirst)
      return next;
    return k.loop(turnsOfThread(), next, [&](Value number, ValueRange carried) {
      States now(carried);
      Turn turn = turnAt(number);
      t.where(turn.valid, [&] { finish(turn, now); });
      return now;
    });
  }
  int64_t turnsOfThread() const {
    return m.tiling.rows * line() / m.tiling.threads();
  }
  /// Bytes that vary by row and that the thread loads for all of its turns.
  int64_t loadedBytes() const {
    int64_t bytes = 0;
    for (const KernelNode *load : plainLoads(needed))
      if (llvm::any_of(m.row.loops,
                       [&](unsigned v) { return k.graph.readsLoop(*load, v); }))
        bytes += m.vector * storageBytes(load->value);
    return bytes * turnsOfThread();
  }

  SmallVector<Value> sumsAt(Value from) {
    OpBuilder &b = e.b;
    int64_t count = std::min<int64_t>(m.vector, 4);
    SmallVector<Value> sums;
    for (int64_t i = 0; i < m.vector; i += count) {
      Value address =
          e.element(shared, t.add(from, e.constant(i)), b.getF32Type());
      Value all = LLVM::LoadOp::create(b, e.loc,
                                       VectorType::get({count}, b.getF32Type()),
                                       address, 4 * count);
      for (int64_t j = 0; j < count; ++j) {
        Value at = LLVM::ConstantOp::create(b, e.loc, b.getI32Type(), j);
        sums.push_back(
            e.rounded(LLVM::ExtractElementOp::create(b, e.loc, all, at), half));
      }
    }
    return sums;
  }

  void reduceRows() {
    Value column = t.times(t.remainder(thread, line()), m.vector);
    const int64_t count = m.shape.rows / m.tiling.rows;
    States all =
        k.loop(count, states.none(), [&](Value tile, ValueRange carried) {
          firstRow = t.times(tile, m.tiling.rows);
          States next = computeTile(carried, [&](States &now) {
            if (m.first)
              for (auto [old, v] : llvm::zip(now, sumsAt(column)))
                old = t.choose(t.isZero(tile), v, old);
          });
          t.barrier(); // the next tile overwrites it
          return next;
        });
    states.join(all, column, shared, batch, firstColumn);
  }

  const Body &k;
  const TileMapping &m;
  const TileStates states;
  SmallVector<LoopGroup> groups; // of an element
  Roots stored, needed;          // for each element of the tile
  bool isLoadedFirst;
  ScalarEmitter &e;
  Threads &t;
  Type half;
  TensorCore core;
  Value thread, warpRow, warpColumn, firstRow, firstColumn, shared;
  SmallVector<Value> batch;
  Operand left, right;
  std::vector<std::unique_ptr<SmallVector<Value>>> positions; // of pending
};

} // namespace

void emitTiles(const Body &body) { Tiles(body).emit(); }

} // namespace dlc::cuda

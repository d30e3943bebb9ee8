// A block has adjacent sums: each thread adds its part of the reduced elements
// to a vector of them, and stores what is wanted of each element, then the
// threads of a sum join their states in shared memory, in an order that depends
// on the shape alone.
#include "compiler/target/cuda/codegen/patterns/Sums.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

/// Bytes that a thread should wait for at once, and most rows that it takes.
constexpr int64_t kInFlight = 64, kMostRows = 4;

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

  /// Rows whose elements are loaded before the first of them is added: those
  /// of few bytes in flight leave memory waiting.
  int64_t rowsAtOnce() const {
    int64_t bytes = 0;
    for (const KernelNode *load : plainLoads(roots))
      bytes += load->varies ? m.vector * storageBytes(load->value) : 0;
    const int64_t most = m.condition || !bytes ? 1 : kInFlight / bytes;
    return std::clamp<int64_t>(std::min(most, m.row / parts()), 1, kMostRows);
  }

  /// The thread's part, for all its columns one after another.
  States sum(Lanes &columns) {
    const int64_t many = rowsAtOnce(), step = many * parts(),
                  whole = many > 1 ? m.row / step * step : 0;
    States states = sums.initial(m.vector);
    if (whole)
      states = loop(columns, part, whole, many, states);
    if (whole < m.row || !m.row)
      states = loop(columns, whole ? t.add(part, e.constant(whole)) : part,
                    m.row, 1, states);
    return states;
  }
  /// Over rows from `low` on, `many` of the thread's at a time.
  States loop(Lanes &columns, Value low, int64_t high, int64_t many,
              ValueRange carried) {
    auto loop = scf::ForOp::create(e.b, e.loc, low, e.constant(high),
                                   e.constant(many * parts()), carried);
    OpBuilder::InsertionGuard guard(e.b);
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    e.b.setInsertionPointToEnd(loop.getBody());
    ScalarEmitter::Scope scope(e);
    Value row = loop.getInductionVar();
    ValueRange before = loop.getRegionIterArgs();
    scf::YieldOp::create(e.b, e.loc,
                         m.condition ? addIfChosen(columns, row, before)
                                     : add(columns, row, many, before));
    return loop.getResults();
  }
  States add(Lanes &columns, Value first, int64_t many, ValueRange carried) {
    std::vector<ScalarEmitter::Memory> memories(many);
    std::vector<Lanes> elements;
    auto in = [&](int64_t i, llvm::function_ref<void()> f) {
      ScalarEmitter::Scope scope(e, &memories[i]);
      k.open(m.inner, i ? t.add(first, e.constant(i * parts())) : first, 2);
      f();
    };
    for (int64_t i = 0; i < many; ++i)
      in(i, [&] {
        elements.emplace_back(&columns);
        elements.back().load(roots, 2);
      });
    States states(carried);
    for (int64_t i = 0; i < many; ++i)
      in(i, [&] {
        States next;
        elements[i].each([&](int64_t lane) {
          llvm::append_range(next, k.combine(sums.all, sums.of(states, lane)));
        });
        storeFull(elements[i]);
        states = next;
      });
    return states;
  }
  void storeFull(Lanes &elements) {
    for (const KernelOutput &o : k.graph.outputs)
      if (o.full)
        elements.emit(o.node);
    for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
      if (o.full)
        t.where(valid, [&] { elements.store(o, pointer); });
  }

  /// Most elements are then not even read.
  States addIfChosen(Lanes &columns, Value row, ValueRange carried) {
    k.open(m.inner, row, 2);
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
      scf::YieldOp::create(e.b, e.loc, add(columns, row, 1, carried));
    }
    e.b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(e.b, e.loc, carried);
    return branch.getResults();
  }

  /// Leaves the joined states with the threads of part 0.
  void join(States &states) {
    size_t count = sums.width();
    SmallVector<Value> arrays;
    for (size_t s = 0; s < count; ++s)
      arrays.push_back(t.shared(states[s].getType(), m.vector * m.block));
    auto slot = [&](int64_t i, int64_t distance) {
      return t.add(thread, e.constant(i * m.block + distance * m.across));
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
    for (int64_t i = 0; i < m.vector; ++i)
      write(i, sums.of(states, i));
    t.barrier();
    for (int64_t step = parts() / 2; step; step /= 2) {
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
  SmallVector<const KernelNode *> roots; // added up, or stored on the way
  Value thread, part;
  Value valid; // whether its sums exist; null: always
};

} // namespace

void emitColumns(const Body &body) {
  body.map.sparse ? emitSparseColumns(body) : Columns(body).emit();
}

} // namespace dlc::cuda

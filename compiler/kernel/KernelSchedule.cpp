#include "compiler/kernel/KernelSchedule.h"
#include "compiler/dialect/Dlc.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc {

bool isCostly(Operation *op) {
  auto elementwise = dyn_cast<ir::ElementwiseInterface>(op);
  return elementwise && elementwise.isCostly();
}

int64_t iterationsOf(ArrayRef<LoopGroup> groups) {
  int64_t n = 1;
  for (const LoopGroup &g : groups)
    n *= g.size;
  return n;
}

namespace {

/// Elements of an elementwise item: enough for the vector loop, few enough for
/// the first-level cache.
constexpr int64_t kItem = 2048;
/// Most and fewest kept elements of a column item: what registers hold, and one
/// cache line of f32.
constexpr int64_t kWideTile = 256, kNarrowTile = 16;
constexpr int64_t kFewItems = 2;
/// Work of one thread in units of a cheap operation on one element, about 20
/// us.
constexpr int64_t kThreadWork = 1 << 17;

using Groups = SmallVector<LoopGroup, 4>;

/// The loops with this `reduced`, adjacent ones joined where all forms allow
/// it.
Groups collapse(const KernelGraph &graph, bool reduced) {
  Groups groups;
  for (unsigned v = 0; v < graph.variables.size(); ++v) {
    const KernelVariable &loop = graph.variables[v];
    if (loop.kind != KernelVariable::Loop || loop.reduced != reduced)
      continue;
    bool joins = !groups.empty();
    if (joins)
      graph.forEachForm([&](const IndexForm &f) {
        joins &= f.coefficient(groups.back().loops.back()) ==
                 f.coefficient(v) * loop.size;
      });
    if (!joins)
      groups.push_back({{}, 1});
    groups.back().loops.push_back(v);
    groups.back().size *= loop.size;
  }
  return groups;
}

/// What is computed and moved, when nothing is done again in loops that it does
/// not depend on.
class Costs {
public:
  Costs(const KernelGraph &graph, KernelSchedule &s) : graph(graph), s(s) {}

  void count() {
    int64_t rows = graph.extent(false), all = rows * graph.extent(true);
    s.elements = all;
    s.flops = s.bytes = 0;
    int64_t work = 0;
    llvm::SmallMapVector<Value, int64_t, 8> read; // elements of arguments
    for (const auto &node : graph.nodes) {
      bool perElement =
          node->varies || !graph.reduces || node->kind == KernelNode::Reduce;
      loops.push_back(loopsOf(*node));
      if (node->kind == KernelNode::Apply || node->kind == KernelNode::Reduce) {
        const bool multiplies =
            node->kind == KernelNode::Reduce &&
            node->children.front()->kind == KernelNode::Product;
        s.flops += elementsOf(counted(*node)) * (multiplies ? 2 : 1);
        work += perElement && isCostly(node->op()) ? 8 : 1;
      }
      if (node->kind == KernelNode::Load) {
        work += !read.contains(node->value);
        read[node->value] += elementsOf(loops.back());
      }
    }
    for (auto [value, elements] : read)
      s.bytes += std::min(elements, ir::tensorType(value).getNumElements()) *
                 bytesOf(value);
    for (const KernelOutput &o : graph.outputs) {
      s.bytes += (o.full ? all : rows) * bytesOf(o.node->value);
      ++work;
    }
    int64_t perItem = s.extent ? std::max<int64_t>(all / s.extent, 1) : 1;
    s.grain = std::max<int64_t>(
        kThreadWork / (perItem * std::max<int64_t>(work, 4)), 1);
  }

private:
  using Loops = llvm::SmallBitVector;

  static int64_t bytesOf(Value v) {
    return llvm::divideCeil(ir::tensorType(v).getElementTypeBitWidth(), 8);
  }
  int64_t elementsOf(const Loops &set) const {
    int64_t n = 1;
    for (unsigned v : set.set_bits())
      n *= graph.variables[v].size;
    return n;
  }
  /// The loops that the value of a node depends on; its children are known.
  Loops loopsOf(const KernelNode &node) const {
    Loops set(graph.variables.size());
    for (const KernelNode *child : node.children)
      set |= loops[child->id];
    for (unsigned v = 0; v < graph.variables.size(); ++v)
      if (graph.variables[v].kind == KernelVariable::Loop) {
        if (node.kind == KernelNode::Reduce && graph.variables[v].reduced)
          set.reset(v);
        else if (graph.readsLoop(node, v))
          set.set(v);
      }
    return set;
  }
  /// Those that an op runs in. Of `sum(select(c, x, 0))` each x is taken to
  /// count once, and the others to be passed over.
  const Loops &counted(const KernelNode &node) const {
    if (node.kind == KernelNode::Reduce)
      return counted(*node.children.front());
    bool isSelect =
        node.kind == KernelNode::Apply && isa<ir::SelectOp>(node.op()) &&
        node.children[2]->kind == KernelNode::Splat && graph.reduces;
    return loops[isSelect ? node.children[1]->id : node.id];
  }

  const KernelGraph &graph;
  KernelSchedule &s;
  std::vector<Loops> loops; // by node
};

/// The largest divisor of n in [low, high] that is a multiple of `step` and
/// good; 0 if there is none.
int64_t divisor(
    int64_t n, int64_t low, int64_t high, int64_t step,
    llvm::function_ref<bool(int64_t)> good = [](int64_t) { return true; }) {
  for (int64_t d = high / step * step; d >= std::max(low, step); d -= step)
    if (n % d == 0 && good(d))
      return d;
  return 0;
}

/// Elements of a loop of n that make an item, when each has `rest` elements of
/// inner loops.
int64_t blockOf(int64_t n, int64_t rest) {
  int64_t few = llvm::divideCeil(kItem / 2, rest),
          many = llvm::divideCeil(2 * kItem, rest);
  int64_t even = divisor(n, few, many, rest == 1 ? 64 : 1);
  return even ? even : llvm::divideCeil(kItem, rest);
}

void scheduleElementwise(KernelSchedule &s, Groups groups) {
  s.kind = KernelSchedule::Elementwise;
  while (!groups.empty() && iterationsOf(s.inner) < kItem) {
    s.inner.insert(s.inner.begin(), groups.pop_back_val());
    int64_t rest = iterationsOf(ArrayRef(s.inner).drop_front());
    if (rest > 0 && s.inner.front().size * rest >= 2 * kItem)
      s.block = blockOf(s.inner.front().size, rest);
  }
  s.outer = groups;
}

void scheduleColumns(KernelSchedule &s) {
  s.kind = KernelSchedule::Columns;
  int64_t others = iterationsOf(ArrayRef(s.outer).drop_back()),
          n = s.outer.back().size;
  // Tiles that divide n have loops of constant length.
  s.block = divisor(n, kNarrowTile, kWideTile, kNarrowTile, [&](int64_t tile) {
    return others * (n / tile) >= kFewItems;
  });
  if (!s.block)
    s.block = n <= kWideTile ? n : divisor(n, kNarrowTile, kWideTile, 1);
  if (!s.block)
    s.block = kWideTile / 2;
}

} // namespace

int64_t KernelSchedule::blocks() const {
  return block ? llvm::divideCeil(blocked().size, block) : 1;
}

KernelSchedule scheduleKernel(const KernelGraph &graph) {
  KernelSchedule s{};
  Groups kept = collapse(graph, false);
  if (!graph.reduces) {
    scheduleElementwise(s, kept);
    s.extent = iterationsOf(s.outer) * (s.block ? s.blocks() : 1);
    if (iterationsOf(s.inner) == 0)
      s.extent = 0;
  } else {
    s.kind = KernelSchedule::Rows;
    s.outer = kept;
    s.inner = collapse(graph, true);
    unsigned last = 0;
    for (unsigned v = 0; v < graph.variables.size(); ++v)
      if (graph.variables[v].kind == KernelVariable::Loop)
        last = v;
    bool terminal =
        graph.depth == 1 &&
        llvm::none_of(graph.outputs, [](auto &o) { return o.full; });
    if (terminal && !kept.empty() && !graph.variables[last].reduced)
      scheduleColumns(s);
    int64_t cut = s.kind == KernelSchedule::Columns ? s.outer.back().size : 1;
    s.extent = cut ? iterationsOf(s.outer) / cut * s.blocks() : 0;
  }
  Costs(graph, s).count();
  return s;
}

std::optional<KernelSchedule> analyseKernel(Region &body, std::string *why) {
  std::string reason;
  auto graph = KernelGraph::build(body, reason);
  if (why)
    *why = reason;
  if (!graph)
    return std::nullopt;
  return scheduleKernel(*graph);
}

} // namespace dlc

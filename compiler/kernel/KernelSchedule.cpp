// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/AttentionKernel.h"
#include "compiler/kernel/ConvKernel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc {

bool isCostly(Operation *op) {
  auto elementwise = dyn_cast<ir::ElementwiseInterface>(op);
  return elementwise && elementwise.isCostly();
}

namespace {

/// Elements of an elementwise item: enough for vectors, few enough for the L1.
constexpr int64_t kItem = 2048;
/// Most and fewest kept elements of a column item: as many as registers hold,
/// and one cache line of f32.
constexpr int64_t kWideTile = 256, kNarrowTile = 16;
constexpr int64_t kFewItems = 2;
/// Work of one thread (about 20 us), in cheap operations on one element.
constexpr int64_t kThreadWork = 1 << 17;

using Groups = SmallVector<LoopGroup, 4>;

/// Whether loops v and `outer` around it are contiguous in all accesses.
bool joins(const KernelGraph &graph, unsigned outer, unsigned v) {
  bool joins = true;
  graph.forEachForm([&](const IndexForm &f) {
    joins &= f.coefficient(outer) == f.coefficient(v) * graph.variables[v].size;
  });
  return joins;
}

/// The loops with this `reduced`, adjacent ones merged if all forms allow it.
Groups collapse(const KernelGraph &graph, bool reduced) {
  Groups groups;
  for (unsigned v = 0; v < graph.variables.size(); ++v) {
    const KernelVariable &loop = graph.variables[v];
    if (loop.kind != KernelVariable::Loop || loop.reduced != reduced)
      continue;
    if (groups.empty() || !joins(graph, groups.back().loops.back(), v))
      groups.push_back({{}, 1});
    groups.back().loops.push_back(v);
    groups.back().size *= loop.size;
  }
  return groups;
}

/// Counts computation and traffic, each value in loops that it depends on.
class Costs {
public:
  explicit Costs(const KernelGraph &graph) : graph(graph) { count(); }

  int64_t flops = 0, bytes = 0;
  int64_t work = 0; // per element, in cheap operations

  static int64_t bytesOf(Value v) {
    return llvm::divideCeil(ir::tensorType(v).getElementTypeBitWidth(), 8);
  }

private:
  void count() {
    int64_t rows = graph.extent(false), all = rows * graph.extent(true);
    llvm::SmallMapVector<Value, int64_t, 8> read; // elements read, per argument
    for (const auto &node : graph.nodes) {
      bool perElement =
          node->varies || !graph.reduces || node->kind == KernelNode::Reduce;
      loops.push_back(loopsOf(*node));
      if (node->kind == KernelNode::Apply || node->kind == KernelNode::Reduce) {
        const bool multiplies =
            node->kind == KernelNode::Reduce &&
            node->children.front()->kind == KernelNode::Product;
        flops += elementsOf(counted(*node)) * (multiplies ? 2 : 1);
        work += perElement && isCostly(node->op()) ? 8 : 1;
      }
      if (node->kind == KernelNode::Load) {
        work += !read.contains(node->value);
        read[node->value] += elementsOf(loops.back());
      }
    }
    for (auto [value, elements] : read)
      bytes += std::min(elements, ir::tensorType(value).getNumElements()) *
               bytesOf(value);
    for (const KernelOutput &o : graph.outputs) {
      bytes +=
          bytesOf(o.node->value) *
          (o.sum         ? ir::tensorType(o.sum->getResult(0)).getNumElements()
           : o.full      ? all
           : o.perColumn ? rows / graph.variables[graph.contraction.row].size
                         : rows);
      if (o.sum)
        flops += all;
      ++work;
    }
  }

  using Loops = llvm::SmallBitVector;

  int64_t elementsOf(const Loops &set) const {
    int64_t n = 1;
    for (unsigned v : set.set_bits())
      n *= graph.variables[v].size;
    return n;
  }
  /// The loops that a node's value depends on; those of its children are known.
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
  /// The loops that an op runs in. In `sum(select(c, x, 0))` each x is assumed
  /// to be selected once.
  const Loops &counted(const KernelNode &node) const {
    if (node.kind == KernelNode::Reduce)
      return counted(*node.children.front());
    bool isSelect =
        node.kind == KernelNode::Apply && isa<ir::SelectOp>(node.op()) &&
        node.children[2]->kind == KernelNode::Splat && graph.reduces;
    return loops[isSelect ? node.children[1]->id : node.id];
  }

  const KernelGraph &graph;
  std::vector<Loops> loops; // by node
};

/// The largest divisor of n in [low, high] that is a multiple of `step` and for
/// which `good` is true; 0 if there is none.
int64_t divisor(
    int64_t n, int64_t low, int64_t high, int64_t step,
    llvm::function_ref<bool(int64_t)> good = [](int64_t) { return true; }) {
  for (int64_t d = high / step * step; d >= std::max(low, step); d -= step)
    if (n % d == 0 && good(d))
      return d;
  return 0;
}

/// Elements of a loop of n per item, each with `rest` inner elements.
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
  // Tiles that divide n give loops of constant length.
  s.block = divisor(n, kNarrowTile, kWideTile, kNarrowTile, [&](int64_t tile) {
    return others * (n / tile) >= kFewItems;
  });
  if (!s.block)
    s.block = n <= kWideTile ? n : divisor(n, kNarrowTile, kWideTile, 1);
  if (!s.block)
    s.block = kWideTile / 2;
}

} // namespace

bool sumsColumns(const KernelGraph &graph) {
  if (!graph.reduces || graph.depth != 1 ||
      llvm::any_of(graph.outputs,
                   [](auto &o) { return o.full && o.node->depth; }))
    return false;
  const KernelVariable *last = nullptr;
  bool keeps = false;
  for (const KernelVariable &v : graph.variables)
    if (v.kind == KernelVariable::Loop) {
      last = &v;
      keeps |= !v.reduced;
    }
  return keeps && !last->reduced;
}

int64_t trafficOf(const KernelGraph &graph) { return Costs(graph).bytes; }

KernelSchedule scheduleKernel(const KernelGraph &graph) {
  KernelSchedule s;
  Groups kept = collapse(graph, false);
  if (!graph.reduces) {
    scheduleElementwise(s, kept);
  } else {
    s.kind = KernelSchedule::Rows;
    s.outer = kept;
    s.inner = collapse(graph, true);
    if (sumsColumns(graph))
      scheduleColumns(s);
  }
  const Costs costs(graph);
  s.flops = costs.flops;
  s.bytes = costs.bytes;
  const int64_t extent = s.extent(),
                perItem =
                    extent ? std::max<int64_t>(s.elements() / extent, 1) : 1;
  s.grain = std::max<int64_t>(
      kThreadWork / (perItem * std::max<int64_t>(costs.work, 4)), 1);
  return s;
}

/// Items of ops that have no KernelGraph.
static KernelSchedule scheduleConv(Operation *op) {
  const ConvKernel conv = convKernel(op);
  KernelSchedule s;
  s.outer = {{{}, conv.items()}};
  s.flops = cast<ir::FlopsInterface>(op).countFlops();
  for (Value v : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                     llvm::to_vector(op->getResults())))
    s.bytes += Costs::bytesOf(v) * ir::tensorType(v).getNumElements();
  s.grain = std::max<int64_t>(kThreadWork * conv.items() / s.flops, 1);
  return s;
}

/// Adds the cost of further parts. Returns why the kernel is impossible, or "".
static std::string addParts(exec::KernelOp kernel, KernelSchedule &schedule) {
  std::string why;
  for (unsigned part = 1; part < partsOf(kernel.getBody()); ++part)
    if (auto graph = KernelGraph::build(kernel.getBody(), why, part)) {
      const Costs costs(*graph);
      schedule.flops += costs.flops;
      schedule.bytes += costs.bytes;
    } else {
      break;
    }
  return why;
}

LogicalResult scheduleKernels(ModuleOp module) {
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    if (kernel.getSchedule())
      continue;
    KernelSchedule schedule;
    std::string why;
    if (Operation *attention = attentionOf(kernel.getBody()))
      schedule.flops = cast<ir::FlopsInterface>(attention).countFlops();
    else if (Operation *conv = convOf(kernel.getBody())) {
      why = whyNoConvKernel(conv);
      if (why.empty())
        schedule = scheduleConv(conv);
    } else if (auto graph = KernelGraph::build(kernel.getBody(), why)) {
      schedule = scheduleKernel(*graph);
      why = addParts(kernel, schedule);
    }
    if (!why.empty())
      return kernel.emitOpError("is not a legal cluster: ") << why;
    kernel.setScheduleAttr(
        exec::ScheduleAttr::get(module.getContext(), schedule));
  }
  return success();
}

/// The error in a group of loops, all of which must be `reduced` or not; counts
/// the valid ones.
static const char *faultOf(const KernelGraph &graph, const LoopGroup &group,
                           bool reduced, size_t &count) {
  int64_t size = 1;
  for (auto [i, v] : llvm::enumerate(group.loops)) {
    if (v >= graph.variables.size() ||
        graph.variables[v].kind != KernelVariable::Loop)
      return "names a loop that the body does not have";
    if (graph.variables[v].reduced != reduced)
      return "mixes loops that are kept and loops that are reduced";
    if (i && !joins(graph, group.loops[i - 1], v))
      return "joins loops that some access does not join";
    size *= graph.variables[v].size;
    ++count;
  }
  return size == group.size ? nullptr
                            : "gives a group another size than its loops";
}

FailureOr<KernelSchedule> scheduleOf(exec::KernelOp kernel,
                                     const KernelGraph &graph) {
  if (!kernel.getSchedule())
    return kernel.emitOpError(
        "has no schedule, which dlc-schedule-kernels sets");
  const KernelSchedule &s = kernel.getScheduleAttr().getValue();
  if (Operation *conv = convOf(kernel.getBody())) {
    if (s.kind == KernelSchedule::Whole &&
        s.extent() == convKernel(conv).items())
      return s;
    return kernel.emitOpError(
        "has a schedule of other items than the convolution's");
  }
  const char *fault = nullptr;
  size_t count = 0;
  const bool innerIsReduced = s.kind != KernelSchedule::Elementwise;
  for (const LoopGroup &g : s.outer)
    if (!fault)
      fault = faultOf(graph, g, false, count);
  for (const LoopGroup &g : s.inner)
    if (!fault)
      fault = faultOf(graph, g, innerIsReduced, count);
  if (!fault && count != size_t(llvm::count_if(graph.variables, [](auto &v) {
                  return v.kind == KernelVariable::Loop;
                })))
    fault = "leaves out a loop";
  if (!fault &&
      (s.kind == KernelSchedule::Whole || graph.reduces != innerIsReduced ||
       (s.kind == KernelSchedule::Columns && !sumsColumns(graph))))
    fault = "is of another kind than the body";
  if (fault)
    return kernel.emitOpError("has a schedule that ") << fault;
  return s;
}

} // namespace dlc

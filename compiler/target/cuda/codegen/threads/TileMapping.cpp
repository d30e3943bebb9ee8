// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/TileMapping.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/scalar/ScalarEmitter.h"
#include "compiler/target/cuda/codegen/threads/Mapping.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

/// Padding of a tile's lines, so that eight lines are in different banks.
constexpr int64_t kPadding = 8;
constexpr int64_t kManyArrays = 6;

bool dependsOn(const KernelGraph &graph, const KernelNode *node, unsigned v) {
  return graph.readsLoop(*node, v) ||
         llvm::any_of(node->children, [&](const KernelNode *child) {
           return dependsOn(graph, child, v);
         });
}

/// Whether loops `outer` and `inner` are contiguous in all accesses.
bool join(const KernelGraph &graph, unsigned outer, unsigned inner) {
  bool joins = true;
  graph.forEachForm([&](const IndexForm &f) {
    joins &= f.coefficient(outer) ==
             f.coefficient(inner) * graph.variables[inner].size;
  });
  return joins;
}

LoopGroup groupOf(const KernelGraph &graph, int loop) {
  if (loop < 0)
    return {{}, 1};
  return {{unsigned(loop)}, graph.variables[loop].size};
}

/// Loops that the right operand does not depend on become rows, too.
void groupBatch(const KernelGraph &graph, TileMapping &m) {
  SmallVector<unsigned> loops;
  for (unsigned v = 0; v < graph.variables.size(); ++v)
    if (graph.variables[v].kind == KernelVariable::Loop &&
        !graph.variables[v].reduced && (int)v != graph.contraction.row &&
        (int)v != graph.contraction.column)
      loops.push_back(v);
  while (
      m.overRows.empty() && !loops.empty() &&
      !dependsOn(graph, m.right.node, loops.back()) &&
      (m.row.loops.empty() || join(graph, loops.back(), m.row.loops.front()))) {
    m.row.loops.insert(m.row.loops.begin(), loops.back());
    m.row.size *= graph.variables[loops.pop_back_val()].size;
  }
  for (unsigned v : loops)
    m.batch.push_back(groupOf(graph, v));
  if (m.batch.empty())
    m.batch.push_back({{}, 1});
}

/// Elements of arrays that are contiguous along `group`.
int64_t contiguousElements(const KernelNode *node, const LoopGroup &group) {
  int64_t n = 0;
  for (const KernelNode *load : plainLoads(node))
    if (!group.loops.empty() &&
        load->index.coefficient(group.loops.back()) == 1)
      n += ir::tensorType(load->value).getNumElements();
  return n;
}
int64_t dividing(int64_t vector, int64_t size) {
  while (size % vector)
    vector /= 2;
  return vector;
}

/// Most elements of a vector of `node` along `fast` that can be copied without
/// conversion; 1: none.
int64_t mostCopied(const KernelGraph &graph, const KernelNode *node,
                   const LoopGroup &fast) {
  return node->kind == KernelNode::Load
             ? contiguous(graph, node->index, fast, kMaxVector)
             : 1;
}

void decideOperand(const KernelGraph &graph, OperandMapping &o,
                   const LoopGroup &outer, const LoopGroup &depth) {
  const int64_t alongDepth = contiguousElements(o.node, depth),
                alongOuter = contiguousElements(o.node, outer);
  o.depthIsFast = alongDepth >= alongOuter;
  const LoopGroup &fast = o.depthIsFast ? depth : outer;
  o.vector = alongDepth || alongOuter ? dividing(kMaxVector, fast.size) : 1;
  if (o.node->kind == KernelNode::Load) {
    o.vector = std::min(o.vector, mostCopied(graph, o.node, fast));
    o.isCopied = o.vector > 1;
  }
}

int64_t sumsAtOnce(const KernelGraph &graph, const TileMapping &m) {
  SmallVector<const KernelNode *> roots;
  for (const KernelNode *node : m.overRows)
    roots.push_back(node->children.front());
  int64_t narrowest = kAccess, arrays = graph.outputs.size();
  for (const KernelOutput &o : graph.outputs) {
    roots.push_back(o.node);
    narrowest = std::min(narrowest, storageBytes(o.node->value));
  }
  for (const KernelNode *load : plainLoads(roots)) {
    narrowest = std::min(narrowest, storageBytes(load->value));
    ++arrays;
  }
  int64_t most = arrays > kManyArrays ? kMaxVector / 2 : kMaxVector;
  return dividing(std::min(most, kAccess / narrowest), m.column.size);
}

bool reducesF32(const KernelNode &node) {
  return computeType(ir::elementType(node.children.front()->value)).isF32();
}

bool isTile(const exec::Tile &t, const Tiling &tiling) {
  const int64_t sizes[] = {tiling.rows, tiling.columns, tiling.depth};
  return t.left && ArrayRef(t.sizes) == ArrayRef(sizes) &&
         t.down == tiling.down && t.across == tiling.across &&
         t.slots == kSlots;
}
/// Whether the operand's attribute in the IR is possible for its node.
bool fits(const KernelGraph &graph, const OperandMapping &o,
          const LoopGroup &outer, const LoopGroup &depth) {
  const LoopGroup &fast = o.depthIsFast ? depth : outer;
  return o.vector <= kMaxVector && fast.size % o.vector == 0 &&
         (!o.isCopied ||
          (o.vector > 1 && o.vector <= mostCopied(graph, o.node, fast)));
}

} // namespace

int64_t TileMapping::stride(const OperandMapping &o) const {
  int64_t outer = &o == &left ? tiling.rows : tiling.columns;
  return (o.depthIsFast ? tiling.depth : outer) + kPadding;
}
int64_t TileMapping::elements(const OperandMapping &o) const {
  int64_t outer = &o == &left ? tiling.rows : tiling.columns;
  return stride(o) * (o.depthIsFast ? outer : tiling.depth);
}
int64_t TileMapping::sharedBytes() const {
  // States of each thread, and one row of elements.
  const int64_t states =
      overRows.empty() ? 0
                       : (tiling.threads() * vector * (int64_t)overRows.size() +
                          tiling.columns) *
                             4;
  return std::max({kSlots * (elements(left) + elements(right)) * 2,
                   tiling.rows * sumStride() * 4, states});
}

void TileMapping::decide(const KernelGraph &graph) {
  tiling = *tilingOf(shape);
  decideOperand(graph, left, row, depth);
  decideOperand(graph, right, column, depth);
  vector = sumsAtOnce(graph, *this);
}

exec::Tile TileMapping::tile() const {
  exec::Tile t;
  t.sizes = {tiling.rows, tiling.columns, tiling.depth};
  t.down = tiling.down;
  t.across = tiling.across;
  t.slots = kSlots;
  t.left = left;
  t.right = right;
  return t;
}

const char *TileMapping::take(const exec::Threads &threads,
                              const KernelGraph &graph) {
  const exec::Tile &t = *threads.tile;
  const Tiling *known = llvm::find_if(
      tilings(), [&](const Tiling &one) { return isTile(t, one); });
  if (known == tilings().end() || threads.block != known->threads())
    return "with a tile that no product has";
  if (!known->fits(shape))
    return "with tiles that are partial where rows are reduced";
  tiling = *known;
  static_cast<exec::TileOperand &>(left) = *t.left;
  static_cast<exec::TileOperand &>(right) = *t.right;
  if (!fits(graph, left, row, depth) || !fits(graph, right, column, depth))
    return "whose operands have another layout in memory";
  vector = threads.vector;
  return vector <= kMaxVector && column.size % vector == 0
             ? nullptr
             : "with vectors that do not divide their loop";
}

std::optional<TileMapping> productOf(const KernelGraph &graph) {
  ir::MatmulOp op = graph.contraction.op;
  if (!op || !ir::isHalf(ir::elementType(op.getY())))
    return std::nullopt;
  TileMapping m{};
  m.sum = graph.contraction.element;
  m.first = graph.contraction.first;
  for (const auto &node : graph.nodes)
    if (node->kind == KernelNode::Reduce && node->depth > 1) {
      m.overRows.push_back(node.get());
      if (node->depth > 2 || !reducesF32(*node))
        return std::nullopt;
    }
  if (!m.sum)
    return std::nullopt;
  const KernelNode *product = m.sum->children.front();
  m.left.node = product->children[0];
  m.right.node = product->children[1];
  m.row = groupOf(graph, graph.contraction.row);
  m.column = groupOf(graph, graph.contraction.column);
  m.depth = groupOf(graph, graph.contraction.depth);
  groupBatch(graph, m);
  m.shape = {iterationsOf(m.batch), m.row.size, m.column.size, m.depth.size,
             !m.overRows.empty()};
  return tilingOf(m.shape) ? std::optional(m) : std::nullopt;
}

} // namespace dlc::cuda

#include "compiler/target/cuda/codegen/threads/TileMapping.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/target/cuda/codegen/threads/Mapping.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

/// Bytes of a thread's access; halves between lines of a tile, so that eight
/// lines lie in different banks.
constexpr int64_t kAccess = 16, kPadding = 8;
constexpr int64_t kMostVector = 8, kManyArrays = 6;

bool dependsOn(const KernelGraph &graph, const KernelNode *node, unsigned v) {
  return graph.readsLoop(*node, v) ||
         llvm::any_of(node->children, [&](const KernelNode *child) {
           return dependsOn(graph, child, v);
         });
}

/// Whether all accesses see loops `outer` and `inner` as one.
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

class Mapper {
public:
  explicit Mapper(const KernelGraph &graph) : graph(graph) {}

  TileMapping run(const KernelNode *sum) {
    m.sum = sum;
    const KernelNode *product = sum->children.front();
    m.row = groupOf(graph, graph.contraction.row);
    m.column = groupOf(graph, graph.contraction.column);
    m.depth = groupOf(graph, graph.contraction.depth);
    groupBatch(product->children[1]);
    m.shape = {iterationsOf(m.batch), m.row.size, m.column.size, m.depth.size};
    m.tiling = tilingOf(m.shape);
    m.left = operand(product->children[0], m.row);
    m.right = operand(product->children[1], m.column);
    m.vector = sumsAtOnce();
    return m;
  }

private:
  /// What the right operand does not depend on are rows, too.
  void groupBatch(const KernelNode *right) {
    SmallVector<unsigned> loops;
    for (unsigned v = 0; v < graph.variables.size(); ++v)
      if (graph.variables[v].kind == KernelVariable::Loop &&
          !graph.variables[v].reduced && (int)v != graph.contraction.row &&
          (int)v != graph.contraction.column)
        loops.push_back(v);
    while (!loops.empty() && !dependsOn(graph, right, loops.back()) &&
           (m.row.loops.empty() ||
            join(graph, loops.back(), m.row.loops.front()))) {
      m.row.loops.insert(m.row.loops.begin(), loops.back());
      m.row.size *= graph.variables[loops.pop_back_val()].size;
    }
    for (unsigned v : loops)
      m.batch.push_back(groupOf(graph, v));
    if (m.batch.empty())
      m.batch.push_back({{}, 1});
  }

  /// Elements of arrays that lie along `group`.
  int64_t contiguousElements(const KernelNode *node, const LoopGroup &group) {
    int64_t n = 0;
    for (const KernelNode *load : plainLoads(node))
      if (!group.loops.empty() &&
          load->index.coefficient(group.loops.back()) == 1)
        n += ir::tensorType(load->value).getNumElements();
    return n;
  }
  static int64_t dividing(int64_t vector, int64_t size) {
    while (size % vector)
      vector /= 2;
    return vector;
  }
  OperandMapping operand(const KernelNode *node, const LoopGroup &outer) {
    OperandMapping o{node, true, 1, false};
    int64_t alongDepth = contiguousElements(node, m.depth),
            alongOuter = contiguousElements(node, outer);
    o.depthIsFast = alongDepth >= alongOuter;
    const LoopGroup &fast = o.depthIsFast ? m.depth : outer;
    if (alongDepth || alongOuter)
      o.vector = dividing(kMostVector, fast.size);
    if (node->kind == KernelNode::Load) {
      o.vector =
          std::min(o.vector, contiguous(graph, node->index, fast, kMostVector));
      o.isCopied = o.vector > 1;
    }
    return o;
  }

  int64_t sumsAtOnce() {
    SmallVector<const KernelNode *> roots;
    int64_t narrowest = kAccess, arrays = graph.outputs.size();
    for (const KernelOutput &o : graph.outputs) {
      roots.push_back(o.node);
      narrowest = std::min(narrowest, storageBytes(o.node->value));
    }
    for (const KernelNode *load : plainLoads(roots)) {
      narrowest = std::min(narrowest, storageBytes(load->value));
      ++arrays;
    }
    int64_t most = arrays > kManyArrays ? kMostVector / 2 : kMostVector;
    return dividing(std::min(most, kAccess / narrowest), m.column.size);
  }

  const KernelGraph &graph;
  TileMapping m{};
};

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
  return std::max(kSlots * (elements(left) + elements(right)) * 2,
                  tiling.rows * sumStride() * 4);
}

std::optional<TileMapping> mapTiles(const KernelGraph &graph) {
  ir::MatmulOp op = graph.contraction.op;
  if (!op || !ir::isHalf(ir::elementType(op.getY())))
    return std::nullopt;
  const KernelNode *sum = nullptr;
  for (const auto &node : graph.nodes)
    if (node->kind == KernelNode::Reduce) {
      if (sum)
        return std::nullopt;
      sum = node.get();
    }
  if (!sum)
    return std::nullopt;
  return Mapper(graph).run(sum);
}

} // namespace dlc::cuda

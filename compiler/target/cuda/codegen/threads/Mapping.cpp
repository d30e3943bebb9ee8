// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/Mapping.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/scalar/Reduction.h"
#include "compiler/target/cuda/codegen/threads/Condition.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace dlc::cuda {
namespace {

constexpr int64_t kBlock = 256;
/// Elements of a row that a thread keeps in registers if there are many arrays.
constexpr int64_t kFewRegisters = 16, kFewestRegisters = 8;
/// Threads that fill a large device.
constexpr int64_t kFill = 132 * 1024;
/// For column sums: fewest adjacent vectors, which are whole memory lines;
/// fewest elements per thread, which are loaded together; and most threads per
/// block, each of which may then use 128 registers.
constexpr int64_t kFewestAcross = 8, kFewestElements = 4, kMaxColumnBlock = 512;
/// Number of such threads that fills a device.
constexpr int64_t kFillColumns = 132 * 768;
/// Registers of such a thread: at least, and besides its sums; and of a
/// multiprocessor.
constexpr int64_t kColumnRegisters = 64, kOtherRegisters = 24,
                  kFileRegisters = 65536;
/// For rows with column sums: threads per block, unless a row has more, and per
/// multiprocessor, which limits registers for sums and elements.
constexpr int64_t kSumBlock = 320, kSumThreads = 640;
/// For products: threads per multiprocessor, which may have 128 registers each.
constexpr int64_t kTileThreads = 512;
/// Sparse sums: most elements per row of sums, and fewest in total.
constexpr int64_t kSparse = 8, kManyElements = 64;
/// Sparse sums: number of blocks; rows per block; columns per thread, fewer
/// than an access has, because many elements are loaded together.
constexpr int64_t kFewBlocks = 132 * 6, kFewestTogether = 8, kMostTogether = 64,
                  kSparseVector = kAccess / 4;
/// Indices below this do not overflow in a last block.
constexpr int64_t kNarrow = int64_t(1) << 30;

int64_t divideUp(int64_t a, int64_t b) { return llvm::divideCeil(a, b); }
int64_t roundUp(int64_t a, int64_t b) { return llvm::alignTo(a, b); }
int64_t upToPower(int64_t n) {
  return llvm::PowerOf2Ceil(std::max<int64_t>(n, 1));
}

class Mapper {
public:
  Mapper(const KernelGraph &graph, const KernelSchedule &schedule)
      : graph(graph), m(graph, schedule) {}

  exec::Threads run() {
    m.indexBits = m.needsWide(graph) ? 64 : 32;
    if (m.product)
      product();
    else if (m.kind == KernelSchedule::Elementwise)
      elementwise();
    else if (m.kind == KernelSchedule::Rows)
      rows();
    else
      columns();
    m.grid = m.blocks();
    return m;
  }

private:
  void product() {
    m.product->decide(graph);
    m.tile = m.product->tile();
    m.vector = m.product->vector;
    m.block = m.product->tiling.threads();
  }
  SmallVector<const KernelNode *> loads() const {
    return plainLoads(rootsOf(graph));
  }

  /// Contiguous elements of `group` per thread: as many as fill an access of
  /// the narrowest contiguous array.
  int64_t vectorOf(const LoopGroup &group) const {
    int64_t narrowest = 0;
    auto consider = [&](Value v, const IndexForm &form) {
      int64_t bytes = storageBytes(v);
      if (contiguous(graph, form, group, kMaxVector) > 1 &&
          (!narrowest || bytes < narrowest))
        narrowest = bytes;
    };
    int64_t arrays = 0;
    for (const KernelNode *load : loads()) {
      consider(load->value, load->index);
      arrays += load->varies || !graph.reduces;
    }
    for (const Guarded &g : guardedLoads(graph, rootsOf(graph), group)) {
      for (const KernelNode *pad : g.pads)
        consider(pad->children[0]->value, pad->children[0]->index);
      arrays += g.pads.size() == 1; // computed ones are not stored
    }
    for (const KernelOutput &o : graph.outputs)
      consider(o.node->value, o.offset);
    if (!narrowest)
      return 1;
    int64_t most = arrays > 6 ? kMaxVector / 2 : kMaxVector;
    return std::min(most, kAccess / narrowest);
  }
  static int64_t dividing(int64_t vector, int64_t size) {
    while (size % vector)
      vector /= 2;
    return vector;
  }

  /// Whether enough inputs are contiguous along another loop than the results,
  /// so that whole memory lines are used.
  bool transposes() {
    const LoopGroup &to = m.outer.back();
    const int64_t all = elementsOf(loads());
    for (size_t i = 0; i + 1 < m.outer.size(); ++i) {
      const LoopGroup &from = m.outer[i];
      auto crossing = transposedLoads(graph, rootsOf(graph), from, to);
      if (crossing.empty() || crossing.size() > kMostSquares ||
          elementsOf(crossing) < all / 8 ||
          std::min(from.size, to.size) < kSquare / 2 ||
          m.rows < kSquare * kSquare)
        continue;
      m.transposed = i;
      m.block = kSquareBlock;
      return true;
    }
    return false;
  }
  static int64_t elementsOf(ArrayRef<const KernelNode *> loads) {
    int64_t n = 0;
    for (const KernelNode *load : loads)
      n += ir::tensorType(load->value).getNumElements();
    return n;
  }

  void elementwise() {
    const LoopGroup &last = m.outer.back();
    if (transposes())
      return;
    m.vector = vectorOf(last);
    // A single loop may have remaining elements.
    if (m.outer.size() > 1 || last.size < 8 * m.vector)
      m.vector = dividing(m.vector, last.size);
    m.block =
        std::min(kBlock, roundUp(std::max<int64_t>(m.elementwise(), 1), kWarp));
  }

  /// Whether adjacent elements of a row are far apart in memory.
  bool rowsAreStrided() const {
    unsigned last = 0;
    for (unsigned v = 0; v < graph.variables.size(); ++v)
      if (graph.variables[v].kind == KernelVariable::Loop)
        last = v;
    return !graph.variables[last].reduced;
  }

  void rows() {
    m.block = kBlock;
    if (m.summed)
      return rowsWithSums();
    if (m.row == 0 || rowsAreStrided()) {
      m.across = 1;
      m.chunks = m.row;
    } else {
      m.vector = dividing(vectorOf(m.inner.back()), m.inner.back().size);
      share();
    }
    if (m.across > kBlock)
      m.block = m.across;
    else if (m.across > kWarp)
      m.block = m.across; // not always a divisor of 256
  }
  void share() {
    int64_t arrays = llvm::count_if(loads(), [](auto *n) { return n->varies; });
    int64_t most = arrays <= 1   ? kRegisters
                   : arrays <= 3 ? kFewRegisters
                                 : kFewestRegisters;
    int64_t vectors = m.row / m.vector,
            perThread = std::max<int64_t>(most / m.vector, 1);
    m.across = std::min(kWarp, upToPower(vectors));
    auto larger = [&] {
      int64_t next = m.across < kWarp ? m.across * 2 : m.across + kWarp;
      return next <= std::min(kMaxBlock, roundUp(vectors, kWarp)) ? next : 0;
    };
    auto tooFew = [&] {
      return m.across * perThread < vectors ||
             (m.rows * m.across < kFill && m.across < vectors);
    };
    while (tooFew() && larger())
      m.across = larger();
    m.chunks = divideUp(vectors, m.across);
    m.inRegisters = m.chunks <= perThread;
  }

  /// All elements of a thread have the same columns.
  void rowsWithSums() {
    m.vector = dividing(vectorOf(m.inner.back()), m.inner.back().size);
    const int64_t vectors = m.row / m.vector;
    m.across = vectors <= kWarp ? upToPower(vectors)
                                : std::min(roundUp(vectors, kWarp), kMaxBlock);
    m.chunks = divideUp(vectors, m.across);
    m.inRegisters = true;
    m.block = m.across * std::max<int64_t>(kSumBlock / m.across, 1);
  }

  void columns() {
    const int64_t stateBytes = sumBytes(graph);
    m.vector = dividing(vectorOf(m.outer.back()), m.outer.back().size);
    int64_t row = m.outer.back().size;
    if (!m.meetings.empty() && m.rows && m.row >= kManyElements &&
        m.row <= kSparse * (m.rows / row)) {
      m.sparse = true;
      m.vector = std::min(m.vector, kSparseVector);
      m.across = kWarp;
      m.block = kBlock;
      return;
    }
    while (m.vector > 1 && m.vector * stateBytes * kBlock > kSharedBytes)
      m.vector /= 2;
    int64_t vectors = m.rows / m.vector, parts = upToPower(m.row);
    m.across =
        std::min({kBlock / std::min<int64_t>(parts, 8), upToPower(vectors),
                  std::max(kFewestAcross, upToPower(row / m.vector))});
    int64_t sharing = std::min(kBlock / m.across, parts);
    m.block = std::max(kWarp, m.across * sharing);
    while (m.block > kWarp && bytesToJoin(m, stateBytes) > kSharedBytes)
      m.block /= 2;
    shareMore(vectors, stateBytes);
  }
  /// Increases the threads per sum until they fill a device: first those of a
  /// block, to get more blocks, then more threads per block.
  void shareMore(int64_t vectors, int64_t stateBytes) {
    auto tooFew = [&] {
      int64_t parts = m.block / m.across;
      return vectors * parts < kFillColumns &&
             m.row >= 2 * parts * kFewestElements;
    };
    while (tooFew() && m.across > kFewestAcross)
      m.across /= 2;
    while (tooFew() && 2 * m.block <= kMaxColumnBlock &&
           2 * bytesToJoin(m, stateBytes) <= kSharedBytes)
      m.block *= 2;
  }

  const KernelGraph &graph;
  Mapping m;
};

} // namespace

Mapping::Mapping(const KernelGraph &graph, const KernelSchedule &schedule)
    : kind(schedule.kind), outer(schedule.outer), inner(schedule.inner),
      product(productOf(graph)) {
  if (kind == KernelSchedule::Elementwise) {
    outer.append(inner.begin(), inner.end());
    inner.clear();
  }
  for (auto *groups : {&outer, &inner})
    if (groups->empty())
      groups->push_back({{}, 1});
  rows = iterationsOf(outer);
  if (product)
    return;
  row = iterationsOf(inner);
  if (kind == KernelSchedule::Rows && graph.sumsBesideRows())
    summed = rowsSummed(graph);
  if (kind == KernelSchedule::Columns)
    condition = conditionOfSums(graph, outer.back());
  if (condition && outer.size() > 1 && outer.end()[-2].loops.size() == 1)
    meetings = meetingsOf(graph, condition, outer.end()[-2].loops.front());
}

int64_t Mapping::rowsSummed(const KernelGraph &graph) const {
  auto places = [&](const LoopGroup &group) {
    return llvm::any_of(graph.outputs, [&](const KernelOutput &o) {
      return o.sum && llvm::any_of(group.loops, [&](unsigned v) {
               return graph.dependsOn(o.offset, v);
             });
    });
  };
  int64_t rows = 1;
  for (const LoopGroup &group : llvm::reverse(outer)) {
    if (places(group))
      break;
    rows *= group.size;
  }
  return rows;
}

bool Mapping::needsWide(const KernelGraph &graph) const {
  // Derived numbers, and outputs of all elements, have this range.
  bool all = llvm::any_of(graph.outputs, [](auto &o) { return o.full; }) ||
             llvm::any_of(graph.variables, [](const KernelVariable &v) {
               return v.kind == KernelVariable::Quotient ||
                      v.kind == KernelVariable::Remainder;
             });
  int64_t most = all ? rows * std::max<int64_t>(row, 1) : std::max(rows, row);
  for (const auto &node : graph.nodes)
    if (node->kind == KernelNode::Load || node->kind == KernelNode::Table)
      most = std::max(most, ir::tensorType(node->value).getNumElements());
  return most >= kNarrow;
}

int64_t Mapping::blocks() const {
  if (product)
    return product->tiling.blocks(product->shape);
  const int64_t last = outer.back().size;
  if (transposed) {
    const int64_t from = outer[*transposed].size;
    return rows / (from * last) * divideUp(from, kSquare) *
           divideUp(last, kSquare);
  }
  if (sparse)
    return rows / (outer.end()[-2].size * last) * groups();
  if (summed)
    return rows / summed;
  if (kind == KernelSchedule::Rows)
    return divideUp(rows, block / across);
  return kind == KernelSchedule::Columns ? divideUp(rows / vector, across)
                                         : divideUp(elementwise(), block);
}

int64_t Mapping::tiles() const {
  return divideUp(outer.back().size / vector, kWarp);
}
int64_t Mapping::together() const {
  // A block examines all elements: few blocks, but some per multiprocessor.
  return std::clamp<int64_t>(upToPower(rows / outer.back().size / kFewBlocks),
                             kFewestTogether, kMostTogether);
}
int64_t Mapping::groups() const {
  return divideUp(outer.end()[-2].size, together());
}

int64_t storageBytes(Value tensor) {
  return (storageType(ir::elementType(tensor)).getIntOrFloatBitWidth() + 7) / 8;
}

int64_t contiguous(const KernelGraph &graph, const IndexForm &form,
                   const LoopGroup &group, int64_t width) {
  if (group.loops.empty() || form.coefficient(group.loops.back()) != 1)
    return 1;
  int64_t aligned = std::gcd(width, form.constant());
  for (unsigned v = 0; v < form.variables(); ++v) {
    if (!form.coefficient(v) || llvm::is_contained(group.loops, v))
      continue;
    const KernelVariable &k = graph.variables[v];
    if (k.kind != KernelVariable::Loop &&
        llvm::any_of(group.loops,
                     [&](unsigned g) { return graph.dependsOn(k.of, g); }))
      return 1;
    aligned = std::gcd(aligned, form.coefficient(v));
  }
  return aligned;
}

/// Calls f for all nodes that `roots` always need, not only under a condition
/// or through a reduction.
static void forEachNeeded(ArrayRef<const KernelNode *> roots,
                          llvm::function_ref<void(const KernelNode *)> f) {
  llvm::SmallPtrSet<const KernelNode *, 16> seen;
  SmallVector<const KernelNode *> stack(llvm::reverse(roots));
  while (!stack.empty()) {
    const KernelNode *node = stack.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    f(node);
    if (node->kind == KernelNode::Apply || node->kind == KernelNode::Pick)
      llvm::append_range(stack, llvm::reverse(node->children));
  }
}

SmallVector<const KernelNode *> plainLoads(ArrayRef<const KernelNode *> roots) {
  SmallVector<const KernelNode *> found;
  forEachNeeded(roots, [&](const KernelNode *node) {
    if (node->kind == KernelNode::Load || node->kind == KernelNode::Table)
      found.push_back(node);
  });
  return found;
}

SmallVector<const KernelNode *>
transposedLoads(const KernelGraph &graph, ArrayRef<const KernelNode *> roots,
                const LoopGroup &from, const LoopGroup &to) {
  SmallVector<const KernelNode *> found;
  if (from.loops.empty() || to.loops.empty())
    return found;
  unsigned fast = from.loops.back(), slow = to.loops.back();
  for (const KernelNode *node : plainLoads(roots))
    if (node->kind == KernelNode::Load && node->index.coefficient(fast) == 1 &&
        node->index.coefficient(slow) > 1)
      found.push_back(node);
  return found;
}

SmallVector<const KernelNode *> rootsOf(const KernelGraph &graph) {
  SmallVector<const KernelNode *> roots;
  for (const KernelOutput &o : graph.outputs)
    roots.push_back(o.node);
  for (const auto &node : graph.nodes)
    if (node->kind == KernelNode::Reduce)
      roots.push_back(node->children.front());
  return roots;
}

int64_t bytesToJoin(const exec::Threads &threads, int64_t sumBytes) {
  return threads.block / 2 * threads.vector * sumBytes;
}

int64_t residentBlocks(const Mapping &map, const KernelGraph &graph) {
  if (map.summed)
    return std::max<int64_t>(kSumThreads / map.block, 1);
  if (map.product)
    return std::max<int64_t>(kTileThreads / map.block, 1);
  if (map.kind != KernelSchedule::Columns)
    return 0;
  // Sums, and values that are the same for all elements of a thread.
  const int64_t kept = llvm::count_if(plainLoads(rootsOf(graph)),
                                      [](auto *load) { return !load->varies; });
  const int64_t own = map.vector * (sumBytes(graph) / 8 + kept);
  const int64_t registers = std::max(kColumnRegisters, kOtherRegisters + own);
  return std::max<int64_t>(kFileRegisters / (registers * map.block), 1);
}

int64_t sumBytes(const KernelGraph &graph) {
  int64_t bytes = 0;
  for (const auto &node : graph.nodes)
    if (node->kind == KernelNode::Reduce)
      bytes += 8 * Reduction(graph, node.get()).width();
  return bytes;
}

exec::Threads decideThreads(const KernelGraph &graph,
                            const KernelSchedule &schedule) {
  return Mapper(graph, schedule).run();
}

} // namespace dlc::cuda

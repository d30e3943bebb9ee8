// SPDX-License-Identifier: Apache-2.0
// The mapping of what the last blocks of a kernel compute from all sums: for
// the same columns, with as many threads.
#include "compiler/target/cuda/codegen/threads/Mapping.h"
#include "llvm/Support/MathExtras.h"

namespace dlc::cuda {
namespace {

/// Whether an element at `form` is in the column given by the loops of `group`.
bool isInColumn(const IndexForm &form, const LoopGroup &group) {
  if (group.loops.empty() || form.coefficient(group.loops.back()) != 1 ||
      form.constant() % group.size)
    return false;
  for (unsigned v = 0; v < form.variables(); ++v)
    if (!llvm::is_contained(group.loops, v) && form.coefficient(v) % group.size)
      return false;
  return true;
}

} // namespace

std::optional<Mapping> mappingOfLast(const Mapping &first,
                                     const KernelGraph &graph,
                                     const KernelGraph &last) {
  if (first.kind != KernelSchedule::Columns || first.sparse || !first.rows ||
      !sumsColumns(last))
    return {};
  const KernelSchedule schedule = scheduleKernel(last);
  Mapping m(last, schedule);
  static_cast<exec::Threads &>(m) = decideThreads(last, schedule);
  const LoopGroup &columns = first.outer.back();
  const int64_t width = std::min(first.across * first.vector,
                                 int64_t(llvm::PowerOf2Ceil(columns.size)));
  if (m.sparse || m.outer.size() != 1 || m.rows != columns.size ||
      (columns.size > width && columns.size % width))
    return {};
  for (const KernelOutput &o : graph.outputs)
    if (!o.full && !isInColumn(o.offset, columns))
      return {};
  for (const auto &node : last.nodes)
    if (node->kind == KernelNode::Load && node->value.getDefiningOp() &&
        !isInColumn(node->index, m.outer.back()))
      return {};
  const int64_t room =
      kSharedBytes - kAccess - bytesToJoin(first, sumBytes(graph));
  m.block = first.block;
  while (m.vector > 1 &&
         (m.vector > width || bytesToJoin(m, sumBytes(last)) > room))
    m.vector /= 2;
  m.across = width / m.vector;
  m.indexBits = std::max(first.indexBits, m.indexBits);
  m.grid = m.blocks();
  return m.across <= m.block && bytesToJoin(m, sumBytes(last)) <= room &&
                 first.grid % m.grid == 0
             ? std::optional(m)
             : std::nullopt;
}

} // namespace dlc::cuda

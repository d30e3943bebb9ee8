// SPDX-License-Identifier: Apache-2.0
// Parses threads in the IR, and checks whether code for a body can use them.
#include "compiler/target/cuda/codegen/threads/Mapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

/// What does not fit; null if everything does.
using Fault = const char *;

Fault faultOfVector(const Mapping &m) {
  // A single loop may have remaining elements.
  const bool mayEnd =
      m.kind == KernelSchedule::Elementwise && m.outer.size() == 1;
  return m.vector <= kMaxVector && (mayEnd || m.cut().size % m.vector == 0)
             ? nullptr
             : "with vectors that do not divide their loop";
}

Fault faultOfTransposed(const KernelGraph &graph, const Mapping &m) {
  const int64_t number = *m.transposed, last = m.outer.size() - 1;
  if (m.kind != KernelSchedule::Elementwise || number < 0 || number >= last ||
      m.rows == 0 || m.block != kSquareBlock || m.vector != 1)
    return "that cannot transpose in shared memory";
  const size_t crossing =
      transposedLoads(graph, rootsOf(graph), m.outer[number], m.outer[last])
          .size();
  return crossing && crossing <= kMostSquares
             ? nullptr
             : "that cannot transpose in shared memory";
}

Fault faultOfRows(const Mapping &m) {
  const bool sharesWarp = m.across <= kWarp && llvm::isPowerOf2_64(m.across);
  const int64_t most = m.inRegisters ? kRegisters : m.chunks * m.vector;
  if (m.summed && !(m.inRegisters && m.block % m.across == 0 &&
                    (sharesWarp || m.across % kWarp == 0)))
    return "that cannot sum columns";
  return (sharesWarp || m.across == m.block || m.summed) &&
                 m.chunks ==
                     (int64_t)llvm::divideCeil(m.row / m.vector, m.across) &&
                 m.chunks * m.vector <= most
             ? nullptr
             : "that do not cover a row";
}

Fault faultOfColumns(const KernelGraph &graph, const Mapping &m) {
  if (m.sparse)
    return !m.meetings.empty() && m.rows && m.across == kWarp &&
                   m.chunks == 1 &&
                   m.together() * m.tiles() % (m.block / kWarp) == 0
               ? nullptr
               : "that cannot skip elements";
  return llvm::isPowerOf2_64(m.across) && m.across <= m.block &&
                 llvm::isPowerOf2_64(m.block / m.across) &&
                 bytesToJoin(m, sumBytes(graph)) <= kSharedBytes
             ? nullptr
             : "that cannot share a sum";
}

Fault faultOf(const KernelGraph &graph, Mapping &m) {
  if (m.block > kMaxBlock || m.block % kWarp)
    return "in blocks that are not whole warps";
  if (m.indexBits == 32 && m.needsWide(graph))
    return "whose indices are too narrow";
  if (bool(m.product) != bool(m.tile))
    return "with a tile but no product, or no tile for a product";
  if (m.product)
    return m.product->take(m, graph);
  const bool isRows = m.kind == KernelSchedule::Rows,
             isColumns = m.kind == KernelSchedule::Columns;
  if ((m.inRegisters && !isRows) || (m.sparse && !isColumns))
    return "that are of another kind than the schedule";
  if (Fault fault = faultOfVector(m))
    return fault;
  if (m.transposed)
    return faultOfTransposed(graph, m);
  return isRows      ? faultOfRows(m)
         : isColumns ? faultOfColumns(graph, m)
                     : nullptr;
}

} // namespace

FailureOr<Mapping> mappingOf(exec::KernelOp kernel, const KernelGraph &graph) {
  auto schedule = scheduleOf(kernel, graph);
  if (failed(schedule))
    return failure();
  if (!kernel.getThreads())
    return kernel.emitOpError("has no threads, which dlc-map-threads sets");
  Mapping m(graph, *schedule);
  static_cast<exec::Threads &>(m) = kernel.getThreadsAttr().getValue();
  Fault fault = faultOf(graph, m);
  if (!fault && m.grid != m.blocks())
    fault = "in another number of blocks than its loops need";
  if (fault)
    return kernel.emitOpError("has threads ") << fault;
  return m;
}

} // namespace dlc::cuda

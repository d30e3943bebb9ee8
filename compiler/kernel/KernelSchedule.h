// How a cluster is run: which loops are parallel items, which are inside of an
// item, and what it costs.
#pragma once

#include "compiler/kernel/KernelGraph.h"
#include <optional>

namespace dlc {

/// Whether an elementwise op costs far more than an addition.
bool isCostly(mlir::Operation *op);

/// Adjacent loops that run as one, because every access sees them as
/// contiguous.
struct LoopGroup {
  llvm::SmallVector<unsigned, 4>
      loops; // variables of the graph, outermost first
  int64_t size;
};

/// Iterations of all of them together.
int64_t iterationsOf(llvm::ArrayRef<LoopGroup> groups);

struct KernelSchedule {
  enum Kind {
    Elementwise, // every output has one element per element of D
    Rows,   // an item is a row: its reductions, then what is computed from them
    Columns // an item is a block of adjacent kept elements, summed over all
            // reduced loops
  };
  Kind kind;
  int64_t
      extent;    // parallel items; any split of [0, extent) gives the same bits
  int64_t grain; // fewest items worth a thread (about 20 us)
  int64_t elements; // of D
  int64_t flops;    // one per element and operation
  int64_t bytes;    // read and written, each argument once

  /// An item is a value of each of `outer`; `inner` are the loops inside of it.
  /// With `block` > 0, the group inner[0] (Elementwise) or outer.back()
  /// (Columns) is cut into blocks of that many, and the block's number is the
  /// innermost part of the item's number.
  llvm::SmallVector<LoopGroup, 4> outer, inner;
  int64_t block = 0;

  int64_t blocks() const;
  /// The group that `block` cuts.
  const LoopGroup &blocked() const {
    return kind == Columns ? outer.back() : inner.front();
  }
};

KernelSchedule scheduleKernel(const KernelGraph &graph);

/// The schedule of the cluster in `body` (arguments = inputs, dlc.yield =
/// outputs), as exec.launch needs it. Nothing if it cannot be one kernel; `why`
/// then names the op in the way. Linear time.
std::optional<KernelSchedule> analyseKernel(mlir::Region &body,
                                            std::string *why = nullptr);

} // namespace dlc

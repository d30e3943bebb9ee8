// SPDX-License-Identifier: Apache-2.0
// Derives the loops of a cluster's full index space from its contraction or
// reduction, or else from an output.
#pragma once

#include "compiler/kernel/KernelGraph.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace dlc {

class KernelLoops {
public:
  /// Adds loops to `graph`, which must not have any; on failure `why` has the
  /// reason.
  KernelLoops(KernelGraph &graph, std::string &why) : graph(graph), why(why) {}

  bool find(llvm::ArrayRef<mlir::Operation *> ops,
            llvm::ArrayRef<mlir::Value> outputs);

  /// Indices in `graph.variables`.
  llvm::SmallVector<unsigned> kept, reduced;
  /// Sums over kept loops, which must be outputs without further uses.
  llvm::SmallPtrSet<mlir::Operation *, 4> columnSums;
  /// Reductions over the rows of a product.
  llvm::SmallPtrSet<mlir::Operation *, 4> overRows;

  /// Number of elements reduced to one; if it is 1, the reduction is a view,
  /// whatever its axes.
  static int64_t reducedCount(ir::ReductionInterface op);

private:
  bool fail(mlir::Operation *op, const llvm::Twine &message);
  bool addContraction(ir::MatmulOp op);
  void addLoops(ir::Ints shape, ir::Ints axes);
  bool matchesLoops(ir::ReductionInterface op) const;
  bool isOverRows(ir::ReductionInterface op) const;
  bool isColumnSum(ir::ReductionInterface op,
                   llvm::ArrayRef<mlir::Operation *> ops,
                   llvm::ArrayRef<mlir::Value> outputs) const;

  KernelGraph &graph;
  std::string &why;
};

} // namespace dlc

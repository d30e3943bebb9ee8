// SPDX-License-Identifier: Apache-2.0
// The loops of a cluster's full index space, read from what contracts or
// reduces, or else from an output.
#pragma once

#include "compiler/kernel/KernelGraph.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace dlc {

class KernelLoops {
public:
  /// Adds loops to `graph`, which has none; `why` says what is in the way.
  KernelLoops(KernelGraph &graph, std::string &why) : graph(graph), why(why) {}

  bool find(llvm::ArrayRef<mlir::Operation *> ops,
            llvm::ArrayRef<mlir::Value> outputs);

  /// Of `graph.variables`.
  llvm::SmallVector<unsigned> kept, reduced;
  /// Sums over kept loops, which are outputs and nothing else.
  llvm::SmallPtrSet<mlir::Operation *, 4> columnSums;

  /// Elements that make one of the result; of one element it is a view,
  /// whatever its axes.
  static int64_t reducedCount(ir::ReductionInterface op);

private:
  bool fail(mlir::Operation *op, const llvm::Twine &message);
  bool addContraction(ir::MatmulOp op);
  void addLoops(ir::Ints shape, ir::Ints axes);
  bool matchesLoops(ir::ReductionInterface op) const;
  bool isColumnSum(ir::ReductionInterface op,
                   llvm::ArrayRef<mlir::Operation *> ops,
                   llvm::ArrayRef<mlir::Value> outputs) const;

  KernelGraph &graph;
  std::string &why;
};

} // namespace dlc

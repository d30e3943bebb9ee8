// SPDX-License-Identifier: Apache-2.0
// The reductions of a kernel of column sums, shared by its emitters.
#pragma once

#include "compiler/target/cuda/codegen/threads/Body.h"

namespace dlc::cuda {

/// States are stored consecutively: width() values for each adjacent sum.
struct Sums {
  using States = Body::States;

  explicit Sums(const Body &k);

  size_t width() const;
  States initial(int64_t sums) const;
  /// The states of sum `i`.
  States of(mlir::ValueRange states, int64_t i) const {
    return States(states.slice(i * width(), width()));
  }
  /// Computes the outputs from the states of all `columns` and stores them.
  void store(Lanes &columns, mlir::ValueRange states) const;

  const Body &k;
  llvm::SmallVector<Reduction> all;
  /// Nodes that are summed, and nodes that are stored.
  llvm::SmallVector<const KernelNode *> roots, results;
};

} // namespace dlc::cuda

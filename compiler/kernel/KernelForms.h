// SPDX-License-Identifier: Apache-2.0
// Tensor indices as affine forms over a kernel's loops.
#pragma once

#include "compiler/kernel/KernelGraph.h"

namespace dlc {

/// The index of an element, one form per dimension.
using Forms = llvm::SmallVector<IndexForm, 4>;

class KernelForms {
public:
  /// Indices that are not affine become variables of `graph`.
  explicit KernelForms(KernelGraph &graph) : graph(graph) {}

  /// Smallest and largest value of a form.
  std::pair<int64_t, int64_t> range(const IndexForm &f) const;
  IndexForm derived(KernelVariable::Kind kind, const IndexForm &of,
                    int64_t divisor, int64_t size);
  /// The row-major position of `index` in `shape`, and back.
  static IndexForm linear(llvm::ArrayRef<IndexForm> index, ir::Ints shape);
  Forms delinear(IndexForm position, ir::Ints shape);
  /// The index of a tensor of `shape` with an element per value of `loops`.
  Forms over(ir::Ints shape, llvm::ArrayRef<unsigned> loops);

private:
  KernelGraph &graph;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// The vector of a thread: adjacent elements of a loop group, each with its own
// scalars; memory accesses are vectorised where possible.
#pragma once

#include "compiler/kernel/scalar/ScalarEmitter.h"
#include "compiler/target/cuda/codegen/threads/Mapping.h"

namespace dlc::cuda {

class Lanes {
public:
  /// The last of `groups`, loops at nesting `level`, is split into vectors:
  /// these are its elements [at.back(), at.back() + width) at the values `at`
  /// of the other groups. at.back() must be a multiple of `width`.
  Lanes(ScalarEmitter &e, const KernelGraph &graph,
        llvm::ArrayRef<LoopGroup> groups, llvm::ArrayRef<mlir::Value> at,
        int64_t width, int level);
  /// The same elements with scopes nested in those of `around`, which must
  /// outlive it.
  explicit Lanes(Lanes *around);

  /// Loads what `roots` need that does not vary with loops inside of `level`.
  void load(llvm::ArrayRef<const KernelNode *> roots, int level);
  /// Calls f in the scope of each element.
  void each(llvm::function_ref<void(int64_t)> f);
  void emit(const KernelNode *node);
  /// `node` must have been emitted if an output may alias what it reads.
  void store(const KernelOutput &output, mlir::Value pointer);

private:
  void loadAtOnce(const KernelNode *node, int64_t count);
  void loadGuarded(const KernelNode *pad, int64_t count);
  void computeGuarded(const Guarded &g);
  /// Number of elements that one access may have.
  int64_t together(const KernelNode *load) const;
  /// Loads the elements of `load`, in vectors of `count`.
  llvm::SmallVector<mlir::Value> vectors(const KernelNode *load, int64_t count);
  /// Splits `all`, `count` elements of `node` into scalars in compute type.
  llvm::SmallVector<mlir::Value>
  elementsOf(mlir::Value all, const KernelNode *node, int64_t count);
  /// Sets the elements of `vectors` as the values of `node`.
  void spread(const KernelNode *node, mlir::ValueRange vectors, int64_t count);
  void in(int64_t lane, llvm::function_ref<void()> f);
  int64_t contiguousAt(const IndexForm &form) const;

  ScalarEmitter &e;
  const KernelGraph &graph;
  llvm::ArrayRef<LoopGroup> groups;
  llvm::SmallVector<mlir::Value> at;
  int level;
  Lanes *around = nullptr;
  llvm::SmallVector<mlir::Value> indices; // in the last group
  std::vector<ScalarEmitter::Memory> memories;
};

} // namespace dlc::cuda

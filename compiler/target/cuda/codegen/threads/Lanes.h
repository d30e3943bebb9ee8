// SPDX-License-Identifier: Apache-2.0
// A thread's vector: adjacent elements of a loop group, each with scalars of
// its own; memory is accessed for all of them at once where it can be.
#pragma once

#include "compiler/kernel/scalar/ScalarEmitter.h"
#include "compiler/target/cuda/codegen/threads/Mapping.h"

namespace dlc::cuda {

class Lanes {
public:
  /// Of `groups`, loops of nesting `level`, the last one is cut: elements
  /// [at.back(), at.back() + width) of it, at the values `at` of the others.
  /// at.back() is a multiple of `width`.
  Lanes(ScalarEmitter &e, const KernelGraph &graph,
        llvm::ArrayRef<LoopGroup> groups, llvm::ArrayRef<mlir::Value> at,
        int64_t width, int level);
  /// The same elements with scopes inside of those of `around`, which must
  /// outlive it.
  explicit Lanes(Lanes *around);

  /// Loads what `roots` need and what varies with no loop inside of `level`.
  void load(llvm::ArrayRef<const KernelNode *> roots, int level);
  /// Runs f in the scope of each element.
  void each(llvm::function_ref<void(int64_t)> f);
  void emit(const KernelNode *node);
  /// `node` must have been emitted if an output may lie on what it reads.
  void store(const KernelOutput &output, mlir::Value pointer);

private:
  void loadAtOnce(const KernelNode *node, int64_t count);
  void loadGuarded(const KernelNode *pad, int64_t count);
  void computeGuarded(const Guarded &g);
  /// How many elements an access may have.
  int64_t together(const KernelNode *load) const;
  /// The elements of `load`, `count` in each vector.
  llvm::SmallVector<mlir::Value> vectors(const KernelNode *load, int64_t count);
  /// The `count` elements of the vector `all` of what `node` reads, as they are
  /// computed with.
  llvm::SmallVector<mlir::Value>
  elementsOf(mlir::Value all, const KernelNode *node, int64_t count);
  /// Makes the elements of `vectors` the values of `node`.
  void spread(const KernelNode *node, mlir::ValueRange vectors, int64_t count);
  void in(int64_t lane, llvm::function_ref<void()> f);
  int64_t contiguousAt(const IndexForm &form) const;

  ScalarEmitter &e;
  const KernelGraph &graph;
  llvm::ArrayRef<LoopGroup> groups;
  llvm::SmallVector<mlir::Value> at;
  int level;
  Lanes *around = nullptr;
  llvm::SmallVector<mlir::Value> indices; // of the last group
  std::vector<ScalarEmitter::Memory> memories;
};

} // namespace dlc::cuda

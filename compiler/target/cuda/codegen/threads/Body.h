// SPDX-License-Identifier: Apache-2.0
// Emits the body of a kernel, for each kind of mapping.
#pragma once

#include "compiler/kernel/scalar/Reduction.h"
#include "compiler/target/cuda/codegen/threads/Lanes.h"
#include "compiler/target/cuda/codegen/threads/Threads.h"

namespace dlc::cuda {

/// What the emitters of all kinds share.
struct Body {
  const KernelGraph &graph;
  const Mapping &map;
  ScalarEmitter &e;
  Threads &threads;
  llvm::ArrayRef<mlir::Value> outputs; // pointers
  /// Elements of this launch, which may be a part of the kernel; null: all.
  mlir::Value count = nullptr;

  /// Splits a row-major index into the values of `groups` and opens them as
  /// loops at nesting `level`.
  llvm::SmallVector<mlir::Value> open(llvm::ArrayRef<LoopGroup> groups,
                                      mlir::Value number, int level) const;
  /// Opens loops whose values are set later.
  void open(llvm::ArrayRef<LoopGroup> groups, int level) const;

  using States = llvm::SmallVector<mlir::Value>;
  /// A loop of `count` turns with carried values, which `body` computes anew in
  /// a scope of its own.
  States
  loop(int64_t count, mlir::ValueRange carried,
       llvm::function_ref<States(mlir::Value, mlir::ValueRange)> body) const;
  States initial(llvm::ArrayRef<Reduction> all) const;
  /// Applies f to the state of each reduction.
  static States forEach(
      llvm::ArrayRef<Reduction> all, mlir::ValueRange states,
      llvm::function_ref<Reduction::State(const Reduction &, mlir::ValueRange)>
          f);
  States combine(llvm::ArrayRef<Reduction> all, mlir::ValueRange states) const;
  States merge(llvm::ArrayRef<Reduction> all, mlir::ValueRange a,
               mlir::ValueRange b) const;
  void setResults(llvm::ArrayRef<Reduction> all, mlir::ValueRange states) const;
};

void emitElementwise(const Body &body);
void emitTransposed(const Body &body);
void emitRows(const Body &body);
void emitColumns(const Body &body);
void emitSparseColumns(const Body &body);
void emitTiles(const Body &body);

} // namespace dlc::cuda

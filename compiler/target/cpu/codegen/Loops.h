// SPDX-License-Identifier: Apache-2.0
// Loop building for kernels: nests over loop groups, with values carried
// around.
#pragma once

#include "compiler/kernel/ConvKernel.h"
#include "compiler/kernel/scalar/Reduction.h"

namespace dlc {

/// What the emitters of the three kinds share: the function, its arguments, the
/// loops.
class Loops {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  /// The body of an innermost loop: gets the carried values, returns their next
  /// ones.
  using Body = llvm::function_ref<Values(mlir::ValueRange)>;

  /// How LLVM may treat a loop.
  enum Kind {
    Items,     // left as it is, so that an item's bits do not depend on others
    Between,   // not vectorized
    Innermost, // iterations touch no common memory: vectorized
    Masked,    // the same, with its remainder masked: half the code
    Tile       // Innermost, then unrolled: its arrays become registers
  };
  explicit Loops(ScalarEmitter &e) : e(e) {}

  /// A loop from low to high.
  Values loop(mlir::Value low, mlir::Value high, mlir::ValueRange carried,
              Kind kind,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);

  /// A group to loop over: `count` values from `first` on (null: from 0).
  /// Counts are constants wherever they can be.
  struct Dim {
    LoopGroup group;
    mlir::Value first, count;
  };
  Dim whole(const LoopGroup &group);
  /// Loops over all `dims`, outermost first, as levels from 1; what `roots`
  /// need is emitted as far out as it can be.
  Values nest(llvm::ArrayRef<Dim> dims,
              llvm::ArrayRef<const KernelNode *> roots,
              mlir::ValueRange carried, Kind innermost, Body body);

  /// Splits an item's number into the loops of `schedule.outer`, and the number
  /// of its block if there are blocks.
  mlir::Value decodeItem(const KernelSchedule &schedule, mlir::Value item);
  /// Block `number` of a group.
  Dim block(const LoopGroup &group, int64_t block, mlir::Value number);

private:
  Values nestFrom(llvm::ArrayRef<Dim> dims, size_t at,
                  llvm::ArrayRef<const KernelNode *> roots,
                  mlir::ValueRange carried, Kind innermost, Body body);
  /// The innermost loop, in parts on which no condition on it changes.
  void loopInParts(const LoopGroup &group, llvm::ArrayRef<int64_t> cuts,
                   Kind kind, int level, Body body);
  ScalarEmitter &e;
};

void emitRows(const KernelGraph &graph, const KernelSchedule &schedule,
              ScalarEmitter &e, mlir::ArrayRef<mlir::Value> outputs,
              mlir::Value item, mlir::Block *entry);
void emitColumns(const KernelGraph &graph, const KernelSchedule &schedule,
                 ScalarEmitter &e, mlir::ArrayRef<mlir::Value> outputs,
                 mlir::Value item, mlir::Block *entry);

/// `element`: of the tensors, all of which are of one type.
void emitConvolution(const ConvKernel &kernel, ScalarEmitter &e,
                     mlir::ArrayRef<mlir::Value> inputs, mlir::Value output,
                     mlir::Type element, mlir::Value item, mlir::Block *entry);

/// A stack array, made once at the start of the function.
mlir::Value stackArray(ScalarEmitter &e, mlir::Block *entry, mlir::Type element,
                       int64_t count);

} // namespace dlc

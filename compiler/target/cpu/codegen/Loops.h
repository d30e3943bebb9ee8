// SPDX-License-Identifier: Apache-2.0
// Builds loop nests over loop groups, with loop-carried values.
#pragma once

#include "compiler/kernel/ConvKernel.h"
#include "compiler/kernel/scalar/Reduction.h"

namespace dlc {

/// Elements of the longest reduction that is not divided into parts, each with
/// a state of its own.
constexpr int64_t kUndivided = 2048;

/// What the emitters of all kinds of schedules share: the function, its
/// arguments, and the loops.
class Loops {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  /// The body of an innermost loop: takes the carried values, returns new ones.
  using Body = llvm::function_ref<Values(mlir::ValueRange)>;

  /// How LLVM may transform a loop.
  enum Kind {
    Items,     // not at all, so that an item's result depends on no other
    Between,   // not vectorised
    Innermost, // vectorised: iterations access disjoint memory
    Masked,    // the same, with a masked remainder: half the code
    Tile       // Innermost, then unrolled: its arrays become registers
  };
  explicit Loops(ScalarEmitter &e) : e(e) {}

  /// A loop from low to high.
  Values loop(mlir::Value low, mlir::Value high, mlir::ValueRange carried,
              Kind kind,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);

  /// A group to loop over: `count` values from `first` on (null: 0). Counts are
  /// constants if possible.
  struct Dim {
    LoopGroup group;
    mlir::Value first, count;
  };
  Dim whole(const LoopGroup &group);
  /// Loops over all `dims`, outermost first, as levels from 1; what `roots`
  /// need is hoisted as far out as possible.
  Values nest(llvm::ArrayRef<Dim> dims,
              llvm::ArrayRef<const KernelNode *> roots,
              mlir::ValueRange carried, Kind innermost, Body body);

  /// Splits an item's index into the loops of `schedule.outer` and, with
  /// blocks, the index of its block.
  mlir::Value decodeItem(const KernelSchedule &schedule, mlir::Value item);
  /// The loop over block `number` of a group.
  Dim block(const LoopGroup &group, int64_t block, mlir::Value number);

private:
  Values nestFrom(llvm::ArrayRef<Dim> dims, size_t at,
                  llvm::ArrayRef<const KernelNode *> roots,
                  mlir::ValueRange carried, Kind innermost, Body body);
  /// The innermost loop, split so that conditions on it are constant in each
  /// part.
  void loopInParts(const LoopGroup &group, llvm::ArrayRef<int64_t> cuts,
                   Kind kind, int level, Body body);
  ScalarEmitter &e;
};

/// The states of all reductions, of two sets of elements.
Loops::Values merged(ScalarEmitter &e, mlir::ArrayRef<Reduction> reductions,
                     mlir::ValueRange a, mlir::ValueRange b);

void emitRows(const KernelGraph &graph, const KernelSchedule &schedule,
              ScalarEmitter &e, mlir::ArrayRef<mlir::Value> outputs,
              mlir::Value item, mlir::Block *entry);
void emitColumns(const KernelGraph &graph, const KernelSchedule &schedule,
                 ScalarEmitter &e, mlir::ArrayRef<mlir::Value> outputs,
                 mlir::Value item, mlir::Block *entry);

/// `element`: the element type of all tensors.
void emitConvolution(const ConvKernel &kernel, ScalarEmitter &e,
                     mlir::ArrayRef<mlir::Value> inputs, mlir::Value output,
                     mlir::Type element, mlir::Value item, mlir::Block *entry);

/// A stack array, allocated at the start of the function.
mlir::Value stackArray(ScalarEmitter &e, mlir::Block *entry, mlir::Type element,
                       int64_t count);

} // namespace dlc

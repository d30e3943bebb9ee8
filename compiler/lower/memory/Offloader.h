// SPDX-License-Identifier: Apache-2.0
// Copies values to the host's memory while no command reads them.
#pragma once

#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// What copies cost, as predicted.
struct OffloadCost {
  int64_t tensors = 0, bytes = 0; // to the host, and as many back
  double seconds = 0;             // of all copies
  double exposed = 0;             // that commands wait for copies
};

/// The values of one function that are idle between commands, and their copies
/// to the host and back meanwhile. Times are predictions of the target.
class Offloader {
public:
  /// Both must outlive it.
  Offloader(mlir::func::FuncOp f, const Target &target);

  /// Number of such values.
  size_t size() const { return idle.size(); }
  /// Largest of their sizes.
  int64_t largest() const;

  /// Inserts copies of the `count` values that are idle longest. A copy to the
  /// host starts behind the last use before the gap; the wait for it, which
  /// releases the value's memory, is where the copy is predicted to be done,
  /// or where more than `pending` bytes would be on their way. A copy back
  /// starts as late as it still ends before the first use after the gap, and
  /// while at most `pending` bytes have been fetched and not been used. Must be
  /// called at most once.
  OffloadCost insert(size_t count, int64_t pending);

private:
  struct Use {
    int64_t position;
    mlir::OpOperand *operand;
  };
  struct Idle {
    mlir::Value value;
    int64_t made, before, after; // positions: of the gap, the uses around it
    int64_t bytes;
    double seconds; // idle
    mlir::SmallVector<Use> later;
  };
  /// Where the copies of an idle value start and end; each is before the op of
  /// that position.
  struct Stay {
    const Idle *idle;
    int64_t release, fetch;
  };

  void findIdle();
  std::optional<Idle> idleOf(mlir::OpResult v) const;
  double copySeconds(int64_t bytes) const;
  std::vector<Stay> planStays(mlir::ArrayRef<const Idle *> chosen,
                              int64_t pending) const;
  void planFetches(std::vector<Stay> &stays, int64_t pending) const;
  OffloadCost simulate(mlir::ArrayRef<Stay> stays) const;
  void rewrite(mlir::ArrayRef<Stay> stays);
  static void replaceLater(const Idle &each, mlir::Value copy);

  const Target &target;
  mlir::Block &block;
  mlir::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  std::vector<double> starts; // of ops, and the end of the last
  std::vector<Idle> idle;     // the longest first
};

} // namespace dlc

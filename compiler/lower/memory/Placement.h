// SPDX-License-Identifier: Apache-2.0
// Where the values of one function live.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/lower/memory/Casts.h"
#include "compiler/lower/memory/Slots.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc {

/// The collective with a bucket that gives what `v` is a view of; null if there
/// is none.
mlir::Operation *collectiveOf(mlir::Value v);
/// The number of a collective's bucket; none of what does not travel.
std::optional<int64_t> bucketOf(mlir::Operation *collective);

/// Gives every tensor of a function its memory.
///
///   1. States have their places already (StateLayout.h).
///   2. Reshapes, all-reduces and slices in place are views of their operand,
///      and so is a part of the whole; but an all-reduce whose operand is
///      wanted later, too, reduces a copy of it. Operands of a concat in place
///      are born in it, or copied there.
///   3. Gradients are born at their parameter's offset in the gradient region,
///      where their bucket is.
///   4. A value that is written to a state is born in the state when nobody
///      reads the old value later.
///   5. Halves whose casts are joined (Casts.h) lie side by side in scratch,
///   and
///      so do whole tensors that ranks exchange parts of (Slots.h). Those of a
///      bucket of gradients give way once it has arrived, two buckets later.
///   6. What is left lives in scratch, by liveness.
class Placement {
public:
  /// Both must outlive it.
  Placement(mlir::func::FuncOp f, StateLayout &layout);

  /// Whether `op` becomes commands of its own: a cluster, a library call, or an
  /// all-reduce of a copy.
  bool isCommand(mlir::Operation *op) const;
  /// Whether a reduction reads a copy of its operand.
  bool isCopied(mlir::Operation *reduction) const {
    return copies.contains(reduction);
  }
  Place placeOf(mlir::Value v) const;
  /// Whether it is a slice or concat that nothing computes.
  static bool isInPlace(mlir::Operation *op);
  Place placeOfState(mlir::StringRef state) const;
  /// Whether a read's old value is still wanted at the end, when its state may
  /// have changed: then it is copied to scratch first.
  bool needsSnapshot(ir::ReadOp read) const;
  /// What is cast before all commands.
  llvm::ArrayRef<CastRange> casts() const { return stateCasts; }
  /// Whether `op` is part of a launch of joined casts.
  bool isJoined(mlir::Operation *op) const { return joined.contains(op); }
  /// The gradients that are cast at the place of `op`, the last of their casts;
  /// or null.
  const CastRange *castsAt(mlir::Operation *op) const {
    auto it = lastCasts.find(op);
    return it == lastCasts.end() ? nullptr : &gradientCasts[it->second];
  }
  /// Of a bucket.
  llvm::ArrayRef<Slot> slotsOf(int64_t bucket) const;
  /// Where the whole tensor of an exchange is.
  Place placeInSlot(mlir::Operation *exchange) const;
  /// The buckets that have arrived when `op` runs, since it needs their memory.
  llvm::ArrayRef<int64_t> arrivedAt(mlir::Operation *op) const {
    auto it = arrived.find(op);
    return it == arrived.end() ? llvm::ArrayRef<int64_t>() : it->second;
  }
  int64_t gradientBytes() const { return gradientEnd; }
  int64_t scratchBytes() const { return scratchEnd; }

private:
  void findCopies();
  void analyse();
  bool isView(mlir::Operation *op) const;
  /// Of what memory a value is a range, and its first byte there.
  struct Range {
    mlir::Value storage;
    int64_t offset = 0;
  };
  Range rangeOf(mlir::Value v) const;
  mlir::Value storageOf(mlir::Value v) const { return rangeOf(v).storage; }
  void findParts();
  llvm::SmallVector<mlir::Operation *> usersThroughViews(mlir::Value v) const;
  bool canPlace(mlir::Value storage) const;
  bool mayAlias(mlir::Operation *op, mlir::OpResult r,
                llvm::StringRef state) const;
  void placeGradients();
  void planSlots();
  void timeScatters(llvm::ArrayRef<mlir::Operation *> commands,
                    const llvm::DenseMap<int64_t, int64_t> &starts);
  void placeWrites();
  std::optional<JoinedCast> castOfState(ir::FusedOp cast) const;
  std::optional<JoinedCast> castOfGradient(ir::FusedOp cast) const;
  void joinCasts();
  void placeScratch();

  mlir::Block &block;
  StateLayout &layout;
  llvm::DenseMap<mlir::Value, Range> parts; // commands' results in a concat
  llvm::DenseSet<mlir::Operation *> copies; // all-reduces and -scatters
  llvm::DenseMap<mlir::Operation *, int64_t> position; // of commands
  llvm::DenseMap<mlir::Value, int64_t> lastUse;        // of a storage
  llvm::StringMap<int64_t> lastRead;                   // of a state's old value
  llvm::StringMap<ir::WriteOp> writes;
  /// Of a storage that is no state's old value.
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::SmallVector<CastRange> stateCasts, gradientCasts;
  llvm::DenseSet<mlir::Operation *> joined;            // casts
  llvm::DenseMap<mlir::Operation *, size_t> lastCasts; // of gradientCasts
  llvm::SmallVector<Slot> slots;                       // by bucket
  llvm::DenseMap<mlir::Operation *, size_t> slotOf;    // of exchanges
  llvm::DenseSet<mlir::Value> inSlots;                 // storages
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> arrived;
  int64_t gradientEnd = 0, scratchEnd = 0;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Assigns memory to the values of one function.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/lower/memory/Casts.h"
#include "compiler/lower/memory/Slots.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc {

/// Assigns memory to every tensor of a function.
///
///   1. States have been placed by StateLayout.h.
///   2. Reshapes, all-reduces and slices in place are views of their operand,
///      as are parts of a whole tensor; but an all-reduce whose operand has a
///      later use reduces a copy of it. Operands of a concat in place are
///      computed in its result, or copied there.
///   3. Gradients are computed at their parameter's offset in the gradient
///      region, where their bucket is.
///   4. A value that is written to a state is computed in the state if the old
///      value has no later use.
///   5. 16-bit tensors whose casts are joined (Casts.h) are adjacent in
///      scratch, and so are whole tensors whose parts ranks exchange
///      (Slots.h). Memory of a bucket of gradients is reused once the bucket
///      has arrived, two buckets later.
///   6. Tensors of the host are in its region, and all other values in
///      scratch, placed by lifetime; a copy's source is live until the wait.
class Placement {
public:
  /// Both must outlive it.
  Placement(mlir::func::FuncOp f, StateLayout &layout);

  /// Whether `op` becomes commands: a cluster, a library call, or an all-reduce
  /// of a copy.
  bool isCommand(mlir::Operation *op) const;
  /// Whether the result of `op` is a range of its operand's storage.
  bool isView(mlir::Operation *op) const;
  /// Whether a collective reduces a copy of its operand.
  bool isCopied(mlir::Operation *reduction) const {
    return copies.contains(reduction);
  }
  Place placeOf(mlir::Value v) const;
  /// Whether it is a slice or concat that is only an alias.
  static bool isInPlace(mlir::Operation *op);
  Place placeOfState(mlir::StringRef state) const;
  /// Whether the value read is still used when its state may have been
  /// overwritten: it is then copied to scratch first.
  bool needsSnapshot(ir::ReadOp read) const;
  /// The casts that run before all commands.
  llvm::ArrayRef<CastRange> casts() const { return stateCasts; }
  /// Whether `op` is part of a launch of joined casts.
  bool isJoined(mlir::Operation *op) const { return joined.contains(op); }
  /// The joined casts of gradients that run at `op`, the last of them; or null.
  const CastRange *castsAt(mlir::Operation *op) const {
    auto it = lastCasts.find(op);
    return it == lastCasts.end() ? nullptr : &gradientCasts[it->second];
  }
  /// The slots of a bucket.
  llvm::ArrayRef<Slot> slotsOf(int64_t bucket) const;
  /// Where the whole tensor of an exchange is stored.
  Place placeInSlot(mlir::Operation *exchange) const;
  /// The buckets that must have arrived when `op` runs, because it reuses their
  /// memory.
  llvm::ArrayRef<int64_t> arrivedAt(mlir::Operation *op) const {
    auto it = arrived.find(op);
    return it == arrived.end() ? llvm::ArrayRef<int64_t>() : it->second;
  }
  int64_t gradientBytes() const { return gradientEnd; }
  int64_t scratchBytes() const { return scratchEnd; }
  int64_t hostBytes() const { return hostEnd; }

private:
  /// Whether lifetimes count it: commands, and where memory is released.
  bool hasPosition(mlir::Operation *op) const;
  void findCopies();
  void analyse();
  /// The storage that a value is a range of, and the offset of its first byte.
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
  void placeHost();
  void placeScratch();

  mlir::Block &block;
  StateLayout &layout;
  llvm::DenseMap<mlir::Value, Range> parts; // results in a concat
  llvm::DenseSet<mlir::Operation *> copies; // all-reduces and -scatters
  llvm::DenseMap<mlir::Operation *, int64_t> position; // of hasPosition()
  llvm::DenseMap<mlir::Value, int64_t> lastUse;        // of a storage
  llvm::StringMap<int64_t> lastRead;                   // of a state's old value
  llvm::StringMap<ir::WriteOp> writes;
  /// By storage, except old values of states.
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::SmallVector<CastRange> stateCasts, gradientCasts;
  llvm::DenseSet<mlir::Operation *> joined;            // casts
  llvm::DenseMap<mlir::Operation *, size_t> lastCasts; // of gradientCasts
  llvm::SmallVector<Slot> slots;                       // by bucket
  llvm::DenseMap<mlir::Operation *, size_t> slotOf;    // of exchanges
  llvm::DenseSet<mlir::Value> inSlots;                 // storages
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> arrived;
  int64_t gradientEnd = 0, scratchEnd = 0, hostEnd = 0;
};

} // namespace dlc

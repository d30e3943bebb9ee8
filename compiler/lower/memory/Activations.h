// SPDX-License-Identifier: Apache-2.0
// The activations of a step: values of the forward part that the backward part
// reads, and their recomputation.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// The forward commands (clusters and library calls) of a fused function, which
/// precede the first command that computes a gradient. Their results are
/// numbered in program order; numbers are the same in a copy of the function.
class Activations {
public:
  struct Item {
    mlir::OpResult value;
    int64_t command;      // index of the command that computes it
    int64_t lastUse = -1; // index of the last forward command that reads it
    bool kept = false;    // read by a backward command
    bool stays = false;   // live to the end: an output, a state's new value
    int64_t bytes() const;
  };

  /// A function without gradients has no activations.
  explicit Activations(mlir::func::FuncOp f);

  llvm::ArrayRef<Item> items() const { return all; }
  /// Forward commands in program order.
  llvm::ArrayRef<mlir::Operation *> commands() const { return order; }
  /// The number of `v`'s storage, which reshapes share; nullopt if it is not an
  /// activation.
  std::optional<size_t> find(mlir::Value v) const;

  /// Makes later commands read copies of the activations in `chosen`, which are
  /// computed just before the first of them that needs one. A copy is the same
  /// command on the same operands, so its results are bitwise equal; its
  /// operands are copies of chosen activations, and kept ones. Nothing is
  /// copied twice; values that stay, and the last forward command, are not
  /// copied. Returns the copies. The object must not be used afterwards.
  llvm::SmallVector<mlir::Operation *>
  recompute(const llvm::BitVector &chosen) const;

private:
  void number(mlir::Operation *command);
  void findUses(mlir::Block &block);

  llvm::SmallVector<Item> all;
  llvm::SmallVector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Value, size_t> numbers;
};

/// The ONNX nodes that `v`, a result of a command, comes from.
llvm::SmallVector<llvm::StringRef> nodesOf(mlir::OpResult v);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// What the backward part of a step reads of its forward part, and how to do
// without keeping it.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// The forward commands (clusters and library calls) of a fused function: all
/// before the first that computes a gradient. Their results are numbered in
/// program order; the numbers are the same in a copy of the function.
class Activations {
public:
  struct Item {
    mlir::OpResult value;
    int64_t command;      // number of the command that computes it
    int64_t lastUse = -1; // number of the last forward command that reads it
    bool kept = false;    // read by a later command
    bool stays = false;   // alive to the end: an output, a state's new value
    int64_t bytes() const;
  };

  /// Without gradients there are no activations.
  explicit Activations(mlir::func::FuncOp f);

  llvm::ArrayRef<Item> items() const { return all; }
  /// Forward commands in program order.
  llvm::ArrayRef<mlir::Operation *> commands() const { return order; }
  /// The number of `v`'s storage, which reshapes share; none if it is no
  /// activation.
  std::optional<size_t> find(mlir::Value v) const;

  /// Later commands no longer read the activations in `chosen`, but
  /// copies computed just before the first of them that needs one. A copy reads
  /// copies of what is chosen and keeps what is not. It is the same command on
  /// the same operands, so it gives the same bits. Nothing is copied twice;
  /// what stays, and the last forward command, is not copied at all. Returns
  /// the copies. Of no use afterwards.
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

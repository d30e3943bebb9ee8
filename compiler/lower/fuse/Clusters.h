// SPDX-License-Identifier: Apache-2.0
// Clusters during fusion: sets of ops that run as one kernel, and their loops.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>
#include <vector>

namespace dlc {

inline ir::Ints shapeOf(mlir::Value v) { return ir::tensorType(v).getShape(); }

constexpr size_t kMaxOps = 96;
constexpr size_t kMaxInputs = 24;
/// Elements below which a cluster's launch costs more than its work.
constexpr int64_t kTiny = 1 << 17;
/// The same for partial sums, whose second stages run together.
constexpr int64_t kSmallParts = 1 << 20;

enum class Class {
  None,    // not part of a cluster
  Clone,   // constant, iota: duplicated in each cluster that uses it
  Compute, // one index space: elementwise, broadcast, unit reshape
  Move,    // other index, input of a cluster: transpose, slice, pad, concat,
           // a generated gather
  Reduce
};

Class classify(mlir::Operation *op);
bool isReduce(mlir::Operation *op);
ir::Ints resultShape(mlir::Operation *op);
ir::Ints operandShape(mlir::Operation *op);
int64_t elementCount(ir::Ints shape);

/// The loops of a cluster: its full index space and, once it reduces, the
/// reduced axes.
struct Domain {
  using Shape = llvm::SmallVector<int64_t>;
  Shape full;
  Shape axes;
  bool reduces = false;

  static Domain of(mlir::Operation *op);
  void reduceOver(mlir::Operation *op);
  /// Whether the reduced axes are the innermost, so that a row can be read
  /// again after its reduction.
  bool isRows() const;
  Shape kept() const;
  bool isFull(ir::Ints shape) const;
  bool isKept(ir::Ints shape) const;
  bool worthRows() const;
  /// Whether the loops are equal.
  bool operator==(const Domain &o) const;
};

struct Cluster {
  Domain domain;
  int64_t last = 0; // position of its last op
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallPtrSet<mlir::Operation *, 8> members;
  llvm::SmallPtrSet<mlir::Operation *, 4> inWindows; // see isInWindows

  /// Whether it computes on elements of the results of `reduction`.
  bool finishes(const Cluster &reduction) const;
  /// Whether it computes on the elements that `reduction` reduces by rows.
  bool isOfRowsOf(const Cluster &reduction) const;
  /// Whether it can be one kernel with `more`, of limited code size: clusters
  /// that KernelGraph refuses are not fused.
  bool mayHold(llvm::ArrayRef<mlir::Operation *> more) const;
  /// Whether an op here moves elements by indices that `op` computes, possibly
  /// through other moves.
  bool isIndexedBy(mlir::Operation *op) const;
  /// Whether all uses of op are windows of pooling in this cluster, possibly
  /// through other such ops, that read each element about once.
  bool isInWindows(mlir::Operation *op) const;
  /// Whether it benefits from running with another cluster that reads the same.
  bool isWorthJoining() const;
  /// Whether a result overwrites the result of op (kOverwrites), which then
  /// must be an input.
  bool overwrites(mlir::Operation *op) const;
  /// Marks the cluster's kernel so, if that operand is one of its inputs.
  void noteOverwritten(ir::FusedOp fused, llvm::ArrayRef<mlir::Value> results);
};

/// All clusters of a block.
struct Clusters {
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  llvm::DenseMap<mlir::Operation *, Cluster *> clusterOf;
  std::vector<std::unique_ptr<Cluster>> all;

  void add(mlir::Operation *op, Cluster &c);
  Cluster *of(mlir::Value v) const;
  /// Moves all ops of c to `home`.
  void join(Cluster &c, Cluster &home);
  /// Whether c may run in `home`, a later cluster with matching loops; with
  /// `byRows` also where one of them has one loop per row for each reduction.
  bool mayJoin(Cluster &c, Cluster &home, bool byRows = false) const;
  /// The non-empty clusters, from last to first.
  llvm::SmallVector<Cluster *> fromLast() const;
  /// Whether op runs after all clusters: writes to states and terminators.
  static bool atEnd(mlir::Operation *op);
};

/// Moves writes to states, and views that only they read, to the end.
void moveWritesToEnd(mlir::Block &block);
/// Delays ops on small values that only the function's results need, such as a
/// mean loss, to just before the next library call: their inputs may then be
/// computed by the kernel of a gradient. Returns these ops.
using LateOps = llvm::SmallPtrSet<mlir::Operation *, 16>;
LateOps moveResultsBehind(mlir::Block &block);

/// Joins clusters whose results are only written to states if they share a
/// tensor and are elementwise or reduce its rows: a parameter and its moments
/// then are updated by one kernel.
void joinWriters(Clusters &clusters);
/// Joins small reductions over the same loops, whose launches cost more than
/// their work; with `apart` also reductions that are not adjacent.
void joinSmallReductions(Clusters &clusters, bool apart);

} // namespace dlc

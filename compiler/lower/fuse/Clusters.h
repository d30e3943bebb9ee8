// SPDX-License-Identifier: Apache-2.0
// Clusters while they grow: what runs as one kernel, and the loops it has.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>
#include <vector>

namespace dlc {

inline ir::Ints shapeOf(mlir::Value v) { return ir::tensorType(v).getShape(); }

constexpr size_t kMaxOps = 96;
constexpr size_t kMaxInputs = 24;
/// Elements of a cluster whose launch costs more than its work.
constexpr int64_t kTiny = 1 << 17;
/// The same of parts of sums, where second stages run together.
constexpr int64_t kSmallParts = 1 << 20;

enum class Class {
  None,    // not for a cluster
  Clone,   // constant, iota: repeated where it is used
  Compute, // one index space: elementwise, broadcast, unit reshape
  Move,    // other index, leaf of a cluster: transpose, slice, pad, concat,
           // a generated gather
  Reduce
};

Class classify(mlir::Operation *op);
bool isReduce(mlir::Operation *op);
ir::Ints resultShape(mlir::Operation *op);
ir::Ints operandShape(mlir::Operation *op);
int64_t elementCount(ir::Ints shape);

/// The loops of a cluster: its full index space and, once something is reduced,
/// over which axes.
struct Domain {
  using Shape = llvm::SmallVector<int64_t>;
  Shape full;
  Shape axes;
  bool reduces = false;

  static Domain of(mlir::Operation *op);
  void reduceOver(mlir::Operation *op);
  /// The reduced axes are the last ones, so that a row can be read again after
  /// its reduction.
  bool isRows() const;
  Shape kept() const;
  bool isFull(ir::Ints shape) const;
  bool isKept(ir::Ints shape) const;
  bool worthRows() const;
  /// The same loops.
  bool operator==(const Domain &o) const;
};

struct Cluster {
  Domain domain;
  int64_t last = 0; // position of its last op
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallPtrSet<mlir::Operation *, 8> members;
  llvm::SmallPtrSet<mlir::Operation *, 4> inWindows; // see isInWindows

  /// Whether it computes on the results' elements of `reduction`.
  bool finishes(const Cluster &reduction) const;
  /// Whether it computes on the elements that `reduction` reduces row by row.
  bool isOfRowsOf(const Cluster &reduction) const;
  /// Whether it is one kernel with `more`, whose code is small: fusion joins
  /// nothing that KernelGraph refuses.
  bool mayHold(llvm::ArrayRef<mlir::Operation *> more) const;
  /// Whether op's elements are indices of a move of it, maybe moved before.
  bool isIndexedBy(mlir::Operation *op) const;
  /// Whether only windows of pooling in here read the elements of op, maybe by
  /// way of ops of which that holds, and not much more often than there are
  /// elements.
  bool isInWindows(mlir::Operation *op) const;
  /// Whether it should run together with another one that reads the same.
  bool isWorthJoining() const;
  /// Whether a result takes the place of op's (kOverwrites), which is then an
  /// input.
  bool overwrites(mlir::Operation *op) const;
  /// Says so of the cluster's kernel, if that operand is an input.
  void noteOverwritten(ir::FusedOp fused, llvm::ArrayRef<mlir::Value> results);
};

/// All clusters of a block.
struct Clusters {
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  llvm::DenseMap<mlir::Operation *, Cluster *> clusterOf;
  std::vector<std::unique_ptr<Cluster>> all;

  void add(mlir::Operation *op, Cluster &c);
  Cluster *of(mlir::Value v) const;
  /// Moves all ops of c into `home`.
  void join(Cluster &c, Cluster &home);
  /// Whether c may run in `home`, a later cluster whose loops fit; with
  /// `byRows` also where one of them has a loop per row for each reduction.
  bool mayJoin(Cluster &c, Cluster &home, bool byRows = false) const;
  /// The clusters with ops, from the last to the first.
  llvm::SmallVector<Cluster *> fromLast() const;
  /// Writes to states and terminators: behind all clusters.
  static bool atEnd(mlir::Operation *op);
};

/// Writes to states, and views that only they read, run last.
void moveWritesToEnd(mlir::Block &block);
/// What only the function's results need of small values, as a mean loss, runs
/// just ahead of the next library call: what it reads may then come from the
/// kernel of a gradient. Returns these ops.
using LateOps = llvm::SmallPtrSet<mlir::Operation *, 16>;
LateOps moveResultsBehind(mlir::Block &block);

/// Clusters whose results only states take join when they have a tensor in
/// common, if they are elementwise or reduce its rows: a parameter and its
/// moments are one kernel.
void joinWriters(Clusters &clusters);
/// Small reductions over the same loops become one kernel: their launches cost
/// more than their work. With `apart` also if others stand between them.
void joinSmallReductions(Clusters &clusters, bool apart);

} // namespace dlc

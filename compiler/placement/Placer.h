// SPDX-License-Identifier: Apache-2.0
// Placement: who computes an op. The target says who can and at what cost, the
// user what is wished; this picks, and notes why. Everything behind it reads
// the op's `by`.
#pragma once

#include "compiler/placement/Wishes.h"
#include "compiler/target/Target.h"

namespace dlc {

/// What was picked.
struct Choice {
  ir::By by = ir::By::Open;
  std::string why = {};
  /// Why what was wished for cannot be, and that as an error; empty: it can, or
  /// nothing was wished.
  std::string whyNot = {}, refused = {};
  /// The predicted times have decided.
  bool isPredicted = false;
};

class Placer {
public:
  /// Both must outlive it.
  Placer(const Target &target, const Wishes &wishes);

  std::optional<Wish> wishFor(llvm::StringRef row, mlir::Location at) const;
  /// Among `ways` for what stands at `at` and is called `row`: what is wished;
  /// else, where all have a predicted time, the fastest; else the first. What
  /// has a caveat is only picked on a wish.
  Choice choose(llvm::StringRef row, mlir::Location at,
                llvm::ArrayRef<Way> ways) const;

  /// Sets the `by` of an op to what was chosen among `ways`. An error if what
  /// is wished cannot be.
  llvm::LogicalResult place(ir::PlaceableInterface op, const Choice &choice,
                            llvm::ArrayRef<Way> ways);
  /// The same of what is no op of its own or becomes others.
  llvm::LogicalResult take(llvm::StringRef row, mlir::Operation *op,
                           const Choice &choice, llvm::ArrayRef<Way> ways);

  /// Leaves what was done in the module: the notes on @train_step, if they are
  /// wished, and which words of --place were followed.
  void leaveNotes(mlir::ModuleOp module);

private:
  const Target &target;
  const Wishes &wishes;
  std::vector<PlaceRule> rules;
  llvm::SmallVector<mlir::Attribute> notes, followed;
};

/// What --explain-placement says of an op.
struct PlacementNote {
  std::string node, op, by, why;
};
/// What placers left in the module; it is gone from there then.
std::vector<PlacementNote> takePlacementNotes(mlir::ModuleOp module);
/// A line each, in columns.
std::vector<std::string> linesOf(const std::vector<PlacementNote> &notes);
/// The words of --place that no placer has followed.
std::vector<std::string> unfollowed(mlir::ModuleOp module,
                                    const Wishes &wishes);

} // namespace dlc

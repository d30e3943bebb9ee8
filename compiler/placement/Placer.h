// SPDX-License-Identifier: Apache-2.0
// Placement: how an op is computed. The target says which ways there are and
// what they cost, the user may state a preference; the Placer chooses and
// records why. Later passes read the op's `by`.
#pragma once

#include "compiler/placement/Wishes.h"
#include "compiler/target/Target.h"

namespace dlc {

/// The way chosen for an op.
struct Choice {
  ir::By by = ir::By::Open;
  std::string why = {};
  /// `whyNot`: why the way that the user asked for is not possible; `refused`:
  /// the same as an error message. Empty if possible or none was asked for.
  std::string whyNot = {}, refused = {};
  /// Whether predicted times decided.
  bool isPredicted = false;
};

class Placer {
public:
  /// Both must outlive the Placer.
  Placer(const Target &target, const Wishes &wishes);

  std::optional<Wish> wishFor(llvm::StringRef row, mlir::Location at) const;
  /// Chooses among `ways` for an op at `at` that --place calls `row`: the way
  /// the user asked for; else the fastest if all have a predicted time; else
  /// the first. A way with a caveat is only chosen if the user asked for it.
  Choice choose(llvm::StringRef row, mlir::Location at,
                llvm::ArrayRef<Way> ways) const;

  /// Sets the `by` of an op to the choice among `ways`. An error if the way
  /// that the user asked for is not possible.
  llvm::LogicalResult place(ir::PlaceableInterface op, const Choice &choice,
                            llvm::ArrayRef<Way> ways);
  /// The same for something that is no op, or becomes other ops.
  llvm::LogicalResult take(llvm::StringRef row, mlir::Operation *op,
                           const Choice &choice, llvm::ArrayRef<Way> ways);

  /// Stores in the module the notes on @train_step, if they were requested, and
  /// which rules of --place have matched.
  void leaveNotes(mlir::ModuleOp module);

private:
  const Target &target;
  const Wishes &wishes;
  std::vector<PlaceRule> rules;
  llvm::SmallVector<mlir::Attribute> notes, followed;
};

/// The line of --explain-placement for an op.
struct PlacementNote {
  std::string node, op, by, why;
};
/// Removes the notes that Placers stored in the module, and returns them.
std::vector<PlacementNote> takePlacementNotes(mlir::ModuleOp module);
/// Formats the notes in columns, one line each.
std::vector<std::string> linesOf(const std::vector<PlacementNote> &notes);
/// The rules of --place that have matched no op.
std::vector<std::string> unfollowed(mlir::ModuleOp module,
                                    const Wishes &wishes);

} // namespace dlc

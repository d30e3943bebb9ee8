// SPDX-License-Identifier: Apache-2.0
// The list of each op that autocast decides about: its own policy, what the
// preset or the level changes, and what the user changes.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "passes/Options.h"
#include "runtime/base/options/Pattern.h"
#include <map>

namespace dlc {

/// An op's list and who put it there. `by` lives as long as the CastLists.
struct CastEntry {
  ir::CastPolicy policy = ir::CastPolicy::Never;
  llvm::StringRef by;
  /// f32 (Deny) or half (Allow) for this op alone: a denied neighbour does not
  /// count, nor does this one count for its neighbours.
  bool pinned = false;
  /// Named by the user.
  bool asked = false;
};

/// --amp-node=REGEX:f32 or :half.
struct NodeRule {
  std::string text; // the whole flag
  Pattern pattern;
  bool half;
};

class CastLists {
public:
  /// Reads level, preset and the user's lists. Errors are diagnostics at
  /// `where`: an unknown name, one on two lists, a rule that is not REGEX:f32
  /// or REGEX:half.
  static llvm::FailureOr<CastLists> get(mlir::Operation *where,
                                        const AmpOptions &options);

  CastEntry entry(mlir::Operation *op) const;

  /// Types follow from operands to results, as at run time in PyTorch, instead
  /// of being painted.
  bool promotes() const;
  /// What follows the last product computes in half, too (OneFlow).
  bool paintsTails() const;
  bool isFp16() const { return fp16; }
  const std::vector<NodeRule> &nodeRules() const { return rules; }

private:
  struct Listed {
    ir::CastPolicy policy;
    std::string by;
    bool asked;
  };
  using Table = std::map<std::string, Listed>;

  llvm::LogicalResult add(mlir::Operation *where,
                          const std::vector<std::string> &names,
                          ir::CastPolicy policy);
  llvm::LogicalResult addRules(mlir::Operation *where,
                               const std::vector<std::string> &texts);
  const NodeRule *findRule(mlir::Operation *op) const;
  CastEntry ownEntry(mlir::Operation *op) const;

  bool fp16 = false, all = false;
  std::string level, preset;
  Table byOp;       // by mnemonic
  Table byOperator; // by ONNX operator; wins
  std::vector<NodeRule> rules;
};

} // namespace dlc

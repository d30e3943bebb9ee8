// SPDX-License-Identifier: Apache-2.0
// The autocast list of each op: from its own policy, changed by the preset or
// the level, then by the user.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "passes/Options.h"
#include "runtime/base/options/Pattern.h"
#include <map>

namespace dlc {

/// An op's list, and the source of that choice. `by` lives as long as the
/// CastLists.
struct CastEntry {
  ir::CastPolicy policy = ir::CastPolicy::Never;
  llvm::StringRef by;
  /// f32 (Deny) or half (Allow) for this op alone: it is not affected by denied
  /// neighbours, and does not affect its neighbours.
  bool pinned = false;
  /// Named by the user.
  bool asked = false;
};

/// A rule --amp-node=REGEX:f32 or REGEX:half.
struct NodeRule {
  std::string text; // the value of the flag
  Pattern pattern;
  bool half;
};

class CastLists {
public:
  /// Reads level, preset and the user's lists. Errors are diagnostics at
  /// `where`: an unknown name, a name on two lists, or a rule that is not
  /// REGEX:f32 or REGEX:half.
  static llvm::FailureOr<CastLists> get(mlir::Operation *where,
                                        const AmpOptions &options);

  CastEntry entry(mlir::Operation *op) const;

  /// Whether result types follow from operand types in execution order, as at
  /// run time in PyTorch, instead of being propagated over the graph.
  bool promotes() const;
  /// Whether the ops after the last product also compute in half (OneFlow).
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
  Table byOperator; // by ONNX operator; takes precedence
  std::vector<NodeRule> rules;
};

} // namespace dlc

// The lists that autocast paints by: each op's own policy, changed by the
// user's --amp-allow and --amp-deny.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

class CastLists {
public:
  /// Reads the user's names: dlc mnemonics or ONNX operators. An unknown one,
  /// or one on both lists, is an error at `where`, with the nearest known
  /// names.
  static llvm::FailureOr<CastLists> get(mlir::Operation *where, bool fp16,
                                        llvm::ArrayRef<std::string> allow,
                                        llvm::ArrayRef<std::string> deny);

  /// The op's list; Never for ops without a policy.
  ir::CastPolicy policy(mlir::Operation *op) const;

private:
  bool fp16 = false;
  llvm::DenseMap<mlir::OperationName, ir::CastPolicy> overrides;
};

} // namespace dlc

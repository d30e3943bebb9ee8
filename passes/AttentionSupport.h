// Who can compute which attention on a GPU.
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc {

/// Why `by`, library or generated, cannot compute attention of such operands,
/// after which "head dimension 12 is no multiple of 8" reads well; none if it
/// can. With `typed` element types count, else shapes alone.
std::optional<std::string> whyNoAttention(llvm::StringRef by,
                                          mlir::RankedTensorType q,
                                          const ir::AttentionDims &dims,
                                          bool typed);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc::ir {

/// Bytes that an op reads and writes if it accesses only some rows of a table;
/// nullopt for other ops, which access all of their operands and results.
std::optional<int64_t> movedBytes(mlir::Operation *op);

} // namespace dlc::ir

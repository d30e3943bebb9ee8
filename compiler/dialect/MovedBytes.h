// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc::ir {

/// Bytes that an op reads and writes that touches some rows of a table alone;
/// none: those of all operands and results.
std::optional<int64_t> movedBytes(mlir::Operation *op);

} // namespace dlc::ir

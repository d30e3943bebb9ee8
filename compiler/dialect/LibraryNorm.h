// SPDX-License-Identifier: Apache-2.0
// The norms of LibraryNorm.td. Only lowering creates them, so they are not in
// Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/LibraryNorm.h.inc"

namespace dlc::ir {

/// Called once by the dialect.
void registerLibraryNorms(DlcDialect &dialect);

} // namespace dlc::ir

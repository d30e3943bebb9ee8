// SPDX-License-Identifier: Apache-2.0
// Operators of a user's library, the op of Custom.td. Only a few files need it,
// so it is not in Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/Custom.h.inc"

namespace dlc::ir {

/// Called once by the dialect.
void registerCustom(DlcDialect &dialect);

} // namespace dlc::ir

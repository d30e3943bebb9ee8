// SPDX-License-Identifier: Apache-2.0
// Products with fused prologues and epilogues, which only lowering creates.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/Epilogues.h.inc"

namespace dlc::ir {

/// Called once by the dialect.
void registerEpilogues(DlcDialect &dialect);

} // namespace dlc::ir

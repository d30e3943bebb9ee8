// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, the ops of Recurrence.td. Only a few files need them, so
// they are not in Dlc.h.
#pragma once

#include "compiler/dialect/Dlc.h"

#define GET_OP_CLASSES
#include "compiler/dialect/Recurrence.h.inc"

namespace dlc::ir {

/// The logarithm of probability 0 in ctc_paths; differences must be finite.
constexpr double kNoPath = -1e30;

/// Called once by the dialect.
void registerRecurrences(DlcDialect &dialect);

} // namespace dlc::ir

// SPDX-License-Identifier: Apache-2.0
// Attention's generated kernels, written as text.
#pragma once

#include "Patterns.h"
#include "test/support/PlainAttention.h"

namespace dlc::test {

/// Kernels forward, queries and keys, with `suffix` behind their names: y and
/// lse; dq; dk and dv. Operands are `half`, a mask is of type `mask`.
std::string attentionKernels(const AttentionShape &shape,
                             const std::string &half, const std::string &mask,
                             const std::string &suffix = "");

/// Those of test/device/AttentionCases.h in bf16, some also in f16 and with
/// masks of booleans.
PatternModule attentionModule();

} // namespace dlc::test

// SPDX-License-Identifier: Apache-2.0
// Sums of elements that count only under a condition, as of scatter_add.
#pragma once

#include "compiler/kernel/KernelSchedule.h"

namespace dlc::cuda {

/// The condition under which an element counts, if all reductions are sums that
/// share one and it does not vary along `group`. Null otherwise.
const KernelNode *conditionOfSums(const KernelGraph &graph,
                                  const LoopGroup &group);

} // namespace dlc::cuda

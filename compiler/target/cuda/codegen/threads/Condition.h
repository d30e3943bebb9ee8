// SPDX-License-Identifier: Apache-2.0
// Sums of elements that count only under a condition, as of scatter_add.
#pragma once

#include "compiler/kernel/KernelSchedule.h"

namespace dlc::cuda {

/// The condition under which an element counts, if all reductions are sums that
/// share one and it does not vary along `group`. Null otherwise.
const KernelNode *conditionOfSums(const KernelGraph &graph,
                                  const LoopGroup &group);

/// A number that does not depend on a loop, of integer type, and a constant.
struct Meeting {
  const KernelNode *number;
  int64_t offset;
};
/// If `condition` says only which values of loop `v` an element meets: it holds
/// where one of the numbers is the loop's value plus its offset, as far as the
/// number's type goes. Empty otherwise.
llvm::SmallVector<Meeting, 2>
meetingsOf(const KernelGraph &graph, const KernelNode *condition, unsigned v);

} // namespace dlc::cuda

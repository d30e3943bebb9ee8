// SPDX-License-Identifier: Apache-2.0
// Recognises sums of elements that are zero unless a condition holds, as in
// scatter_add.
#pragma once

#include "compiler/kernel/KernelSchedule.h"

namespace dlc::cuda {

/// The condition under which elements are not zero, if all reductions are sums
/// with the same condition and it does not vary along `group`; else null.
const KernelNode *conditionOfSums(const KernelGraph &graph,
                                  const LoopGroup &group);

/// An integer that does not depend on a loop, plus a constant.
struct Meeting {
  const KernelNode *number;
  int64_t offset;
};
/// If `condition` only selects values of loop `v`: it is true if one of the
/// returned integers plus its offset equals the loop's value, within the
/// integer's type. Empty otherwise.
llvm::SmallVector<Meeting, 2>
meetingsOf(const KernelGraph &graph, const KernelNode *condition, unsigned v);

} // namespace dlc::cuda

// SPDX-License-Identifier: Apache-2.0
// Schedules when data that is fetched into limited memory is resident.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc {

/// A use of `what` by command `command`.
struct TimedUse {
  int64_t command;
  size_t what;
};

/// `what` is fetched before command `begin` and resident for the uses from
/// `first` to `last`.
struct Stay {
  size_t what;
  int64_t begin, first, last;
};

/// Stays that cover all uses (given in command order), ordered by begin, with
/// at most `most` resident at a time unless a single command uses more. Each
/// begins as early as that allows; if something must be evicted, it is the one
/// whose next use is farthest in the future (Belady's rule), which minimises
/// refetching. Fetching early hides the transfer time. O(uses * most).
std::vector<Stay> planStays(llvm::ArrayRef<TimedUse> uses, size_t most);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// When what is fetched to memory for a while is there.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc {

/// Command `command` reads `what`.
struct TimedUse {
  int64_t command;
  size_t what;
};

/// `what` is fetched before command `begin`, for those from `first` to `last`.
struct Stay {
  size_t what;
  int64_t begin, first, last;
};

/// In the order in which they begin, stays that cover all uses, which are in
/// the order of commands, and of which no more than `most` are at a time unless
/// one command uses more. Each begins as early as that allows, in place of what
/// is used later than it, if at all: so of what is fetched again there is the
/// least (Belady's rule). What is in memory ahead of its use hides the time
/// that fetching takes. O(uses * most).
std::vector<Stay> planStays(llvm::ArrayRef<TimedUse> uses, size_t most);

} // namespace dlc

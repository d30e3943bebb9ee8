// SPDX-License-Identifier: Apache-2.0
// Offsets in one arena by liveness.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace dlc {

/// A buffer needed from command `begin` to command `end`, both included.
struct LiveRange {
  int64_t begin, end, bytes;
  int64_t offset = 0; // result
};

/// Gives buffers that live at the same time disjoint, aligned ranges and
/// returns the arena's size. Of buffers of which few live at a time the last
/// `alike` have memory of their own where that needs less, for what comes and
/// goes among large ones leaves gaps. O(n log n), beside O(n * n) of at most
/// 4096 and O(n * places of these).
int64_t assignOffsets(llvm::MutableArrayRef<LiveRange> ranges,
                      size_t alike = 0);

} // namespace dlc

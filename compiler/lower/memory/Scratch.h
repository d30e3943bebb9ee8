// SPDX-License-Identifier: Apache-2.0
// Assigns offsets in one arena by lifetime.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace dlc {

/// A buffer that is live from command `begin` to command `end`, inclusive.
struct LiveRange {
  int64_t begin, end, bytes;
  int64_t offset = 0; // result
};

/// Assigns disjoint, aligned ranges to buffers that are live at the same time
/// and returns the arena's size. The last `alike` buffers, of which few are
/// live at a time, get an area of their own if that needs less memory, as
/// short-lived buffers among large ones fragment the arena. O(n log n), plus
/// O(n * n) for at most 4096 buffers and O(n * places) for the last ones.
int64_t assignOffsets(llvm::MutableArrayRef<LiveRange> ranges,
                      size_t alike = 0);

} // namespace dlc

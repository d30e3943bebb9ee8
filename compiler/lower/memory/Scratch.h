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
/// returns the arena's size. Best fit in the order of birth, or of death with
/// time running backwards, whichever needs less; O(n log n).
int64_t assignOffsets(llvm::MutableArrayRef<LiveRange> ranges);

/// The same for buffers in the order of birth that take turns in a few places,
/// each as large as its largest one: where sizes are alike, and few live at a
/// time, nothing is lost between them. O(n * places).
int64_t assignPlaces(llvm::MutableArrayRef<LiveRange> ranges);

} // namespace dlc

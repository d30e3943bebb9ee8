// SPDX-License-Identifier: Apache-2.0
// Where to cut a distribution off, so that its integers say most of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dlc::tool {

/// Of how many of the first bins the range is: the number i, one of 128, 144,
/// ... and all, for which KL(P || Q) is the least (S. Migacz, "8-bit inference
/// with TensorRT", GTC 2017). `bins` count elements by their size and are 128
/// or more. P is the first i of them, the last one with all beyond it; Q has
/// what each 128th part of them holds, spread evenly over those that hold any.
/// The first bin counts as the second: a 0 is exact in any range. At most one
/// in a hundred lies beyond the range: where a single value is that of many
/// elements, such as of a picture's background, P is like Q right there,
/// whatever is cut off. O(bins^2).
size_t leastDivergent(std::span<const uint64_t> bins);

} // namespace dlc::tool

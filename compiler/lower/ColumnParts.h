// SPDX-License-Identifier: Apache-2.0
// Limits of column sums that run in a kernel of row reductions
// (dlc-store-summed): parts, each of which is one block, rows per part, and
// columns, each of which is summed by one thread.
#pragma once

#include <cstdint>

namespace dlc {

constexpr int64_t kFewestParts = 128, kMostParts = 256, kPartRows = 32,
                  kMostColumns = 4096;

} // namespace dlc

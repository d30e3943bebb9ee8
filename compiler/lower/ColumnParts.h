// SPDX-License-Identifier: Apache-2.0
// Of sums of columns that run in a kernel of rows (dlc-store-summed): parts, as
// each is one block, rows of one, and columns, which are a thread's each.
#pragma once

#include <cstdint>

namespace dlc {

constexpr int64_t kFewestParts = 128, kMostParts = 256, kPartRows = 32,
                  kMostColumns = 4096;

} // namespace dlc

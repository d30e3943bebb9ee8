// SPDX-License-Identifier: Apache-2.0
// Filter gradients of bf16 by tiles (TileLoops.h) on the thread pool; results
// do not depend on the number of threads.
#pragma once

#include "runtime/device/commands/Conv.h"

namespace dlc {

class CpuDevice;

// Whether a conv_backward_filter is computed by tiles. With AMX, at least as
// fast as oneDNN 3.2, up to 4 times faster where rows are short; ms on two
// cores of an Emerald Rapids, batch 8, including the reorder of the result:
//                    oneDNN  tiles                     oneDNN  tiles
//     64->64  3x3@56  3.4     2.8      64->256 1x1@56   2.4     2.2
//   128->128  3x3@28  2.6     2.7     128->512 1x1@28   1.7     1.6
//   256->256  3x3@14  4.7     3.0     256->1024 1x1@14  1.7     1.4
//   512->512  3x3@7   4.6     1.7     512->2048 1x1@7   3.0     1.5
//   256->512  3x3@14/2  6.5   2.0    1024->2048 1x1@14/2  12.1  2.8
// By AVX-512 vectors: one tap, and short rows; on a Zen 5:
//     64->256 1x1@56  1.3     1.2     512->128 1x1@28   1.4     1.0
//   1024->256 1x1@14  1.2     1.0    2048->512 1x1@7    2.2     1.0
//   512->1024 1x1@28/2  2.4   1.9    512->512  3x3@14/2  4.4    3.5
//   256->256  3x3@28/2  2.6   3.0     64->64   3x3@56   2.3     2.5
bool areTilesFaster(const CommandSpec &spec, const Conv &conv);

Result<std::unique_ptr<Command>>
bindTileFilter(CpuDevice &device, const CommandSpec &spec, const Conv &conv);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Convolutions and data gradients with few channels in the result
// (NarrowLoops.h) on the thread pool; results do not depend on the number of
// threads.
#pragma once

#include "runtime/device/commands/Conv.h"

namespace dlc {

class CpuDevice;

// Whether they are predicted to be faster than oneDNN. `isData`: for
// conv_backward_data, whose result has the channels of x. ms on two cores of a
// Zen 4, forward, 64 channels of 96x96, batch 4:
//   to      f32 3x3: oneDNN  here   5x5     bf16 3x3     5x5
//    1               3.0     1.4    8.1  2.2   1.5  1.2   4.0  2.1
//    3               3.0     1.3    8.1  2.2   1.5  1.3   4.0  2.1
//    4               3.0     1.3    8.1  3.9   1.5  1.3   4.4  3.8
//    8               3.1     2.5    8.1  5.6   1.5  2.4   4.0  5.5
bool areNarrowLoopsFaster(const CommandSpec &spec, const Conv &conv,
                          bool isData);

Result<std::unique_ptr<Command>> bindNarrow(CpuDevice &device,
                                            const CommandSpec &spec,
                                            const Conv &conv, bool isData);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Synchronises what each rank computes from its own samples: the running
// statistics of batch norms, and their averages.
#pragma once

#include "runtime/exec/Executor.h"

#include <array>
#include <string_view>

namespace dlc {

// Broadcast: rank 0's values, as torch's DDP. Mean: over ranks, summed in f64;
// integers are rank 0's. Each mean is rounded, so checkpoints at other steps
// may change the last bits of later means.
enum class BufferMode { Broadcast, Mean };
constexpr std::array<std::string_view, 2> kBufferModes = {"broadcast", "mean"};

// Collective; call before buffers are read or saved. Training steps only update
// buffers and do not read them, so this is equivalent to a broadcast before
// every step, without its cost.
Status settleBuffers(Executor &executor, Communicator &communicator,
                     BufferMode mode);

} // namespace dlc

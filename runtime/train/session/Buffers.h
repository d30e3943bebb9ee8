// SPDX-License-Identifier: Apache-2.0
// What each rank gathers from its own samples, made equal: the running
// statistics of batch norms and the averages of them.
#pragma once

#include "runtime/exec/Executor.h"

#include <array>
#include <string_view>

namespace dlc {

// broadcast: rank 0's, as torch's DDP. Mean: over the ranks, added in f64;
// whole numbers are rank 0's. A mean is rounded each time it is taken, so that
// a checkpoint at another step may change the last bits of later ones.
enum class BufferMode { Broadcast, Mean };
constexpr std::array<std::string_view, 2> kBufferModes = {"broadcast", "mean"};

// Before anything reads buffers or saves them; all ranks call it. A training
// step does not read them, but to move them on, so that this gives what a
// broadcast before every step would, at no cost in a step.
Status settleBuffers(Executor &executor, Communicator &communicator,
                     BufferMode mode);

} // namespace dlc

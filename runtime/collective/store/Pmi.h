// SPDX-License-Identifier: Apache-2.0
// The key-value space that Hydra, the process manager of MPICH and Intel MPI,
// provides to the ranks that it starts: version 1 of the PMI protocol on the
// descriptor PMI_FD.
#pragma once

#include "runtime/collective/Socket.h"

#include <string>

namespace dlc {

// Returns rank 0's text, which has no spaces, on all ranks; all call it, once
// per process. Code::PeerLost if the others have not called it by the deadline,
// or the descriptor's peer violates the protocol.
Result<std::string> shareByPmi(int descriptor, int rank,
                               const std::string &text,
                               Socket::Clock::time_point deadline);

} // namespace dlc

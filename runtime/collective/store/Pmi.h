// SPDX-License-Identifier: Apache-2.0
// What Hydra, the process manager of MPICH and Intel MPI, keeps for the ranks
// that it starts: texts by key, in version 1 of the PMI protocol on the
// descriptor PMI_FD.
#pragma once

#include "runtime/collective/Socket.h"

#include <string>

namespace dlc {

// All ranks call it, once in a process: rank 0's text, without spaces, on all
// of them. Code::PeerLost if the others have not called it at the deadline, or
// what is at the descriptor speaks otherwise.
Result<std::string> shareByPmi(int descriptor, int rank,
                               const std::string &text,
                               Socket::Clock::time_point deadline);

} // namespace dlc

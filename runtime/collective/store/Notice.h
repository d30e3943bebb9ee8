// SPDX-License-Identifier: Apache-2.0
// Publishes the address of rank 0's store when it cannot be known beforehand:
// rank 0 opens a free port and writes a notice with the port and a token.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/Socket.h"

namespace dlc {

// Rank 0 only: opens the listener, makes a token unless the job has one, and
// writes the notice to the rendezvous' place for it. Code::PeerLost if the
// store there does not answer within the timeout.
Status leaveNotice(Rendezvous &rendezvous);

// Completes the rendezvous from the notice. Code::PeerLost when there is no
// valid notice at the deadline.
Status readNotice(Rendezvous &rendezvous, Socket::Clock::time_point deadline);

// Rank 0 only, at the end: removes the notice if it is still rank 0's.
void removeNotice(const Rendezvous &rendezvous);

} // namespace dlc

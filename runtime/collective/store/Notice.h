// SPDX-License-Identifier: Apache-2.0
// How the ranks learn where rank 0's store is when nobody could say it
// beforehand: rank 0 takes a free port and leaves a notice, with a token.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/Socket.h"

namespace dlc {

// Rank 0 alone: opens the listener and, unless the job has one, makes a token;
// then leaves the notice where the rendezvous says. Code::PeerLost if the store
// that keeps it does not answer within the timeout.
Status leaveNotice(Rendezvous &rendezvous);

// Completes the rendezvous by what the notice says. Code::PeerLost when there
// is none at the deadline, or it says nothing of use.
Status readNotice(Rendezvous &rendezvous, Socket::Clock::time_point deadline);

// Rank 0 alone, at the end, if it is still its own.
void removeNotice(const Rendezvous &rendezvous);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// A rank's use of the job's store: finding it and connecting to the other
// ranks.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/store/StoreClient.h"

namespace dlc {

// A connection that has sent its rank. Retries until rank 0 answers or the
// rendezvous' timeout ends; Code::PeerLost.
Result<Socket> joinStore(const Rendezvous &rendezvous);
// The same where rank 0 publishes its store's address (Notice.h), which
// completes the rendezvous.
Result<Socket> findStore(Rendezvous &rendezvous);
// Rank 0 only: the socket of its store; publishes the address if required.
Result<Socket> listenForRanks(Rendezvous &rendezvous);

} // namespace dlc

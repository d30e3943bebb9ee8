// SPDX-License-Identifier: Apache-2.0
// How a rank finds the job's store and connects to it.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/store/StoreClient.h"

namespace dlc {

// Connects to the store and sends this rank. Retries until rank 0 answers or
// the rendezvous' timeout ends; Code::PeerLost.
Result<Socket> joinStore(const Rendezvous &rendezvous);
// The same, where rank 0 publishes its store's address (Notice.h); completes
// the rendezvous from the notice.
Result<Socket> findStore(Rendezvous &rendezvous);
// Rank 0 only: opens its store's socket; publishes the address if required.
Result<Socket> listenForRanks(Rendezvous &rendezvous);

} // namespace dlc

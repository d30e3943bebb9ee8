// How the ranks connect to each other, and make sure that it is them.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/GlooTransport.h"

#include <gloo/context.h>

#include <optional>

namespace dlc {

// Connects all ranks through rank 0's store, at the `number`th time that they
// meet. Gloo takes whoever connects first for the rank that it waits for: so
// each one then proves over each connection that it knows a secret that only
// the store told it. Throws gloo's exceptions, one that names the rank in whose
// place a stranger has come.
Result<std::shared_ptr<gloo::Context>>
meet(const Rendezvous &rendezvous,
     const std::shared_ptr<GlooTransport> &transport, int number);

// Ranks that wait in vain tell each other, in the store: the one that does not
// tell is silent. Nothing if all do, or it is not known. Takes about a second.
std::optional<int> findSilentRank(const Rendezvous &rendezvous);

} // namespace dlc

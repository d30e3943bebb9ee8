// SPDX-License-Identifier: Apache-2.0
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

// A rank for which others wait in vain.
struct MissingRank {
  int rank = 0;
  // It has not begun the collective that they are in; else it is in none that
  // is later, and does not answer.
  bool behind = false;
};

// Asks the store how far the ranks are: one that has not begun as many
// collectives as this one, which began `begun`, and waits in none, or else one
// that does not answer now. The others are told that it is lost. Nothing if all
// wait alike: then the store is told for whom this one waits, and tells all if
// two do not reach each other (store/Parted.h). Takes at most 0.45 s.
std::optional<MissingRank> findMissingRank(const Rendezvous &rendezvous,
                                           int64_t begun,
                                           std::optional<int> waitedFor);

} // namespace dlc

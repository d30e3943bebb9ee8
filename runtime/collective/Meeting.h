// SPDX-License-Identifier: Apache-2.0
// How the ranks connect to each other and authenticate.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/GlooTransport.h"
#include "runtime/collective/store/StoreClient.h"

#include <gloo/context.h>

#include <map>
#include <optional>

namespace dlc {

// Connections to all other ranks.
class Mesh : public gloo::Context {
public:
  using gloo::Context::Context;

  // Through the store, in a swap of this name. Throws gloo's exceptions.
  void connect(StoreClient &store, const std::string &name,
               const std::shared_ptr<GlooTransport> &transport);
  // By address, as gloo's errors have them.
  const std::map<std::string, int> &peers() const { return peers_; }

private:
  std::map<std::string, int> peers_;
};

// Connects all ranks through rank 0's store, for the `number`th rendezvous,
// of which nothing is left there. Gloo accepts whichever process connects
// first, so each rank then proves over each connection that it knows a secret
// from the store. Throws gloo's exceptions; one names the rank whose place a
// stranger took.
Result<std::shared_ptr<Mesh>>
meet(const Rendezvous &rendezvous,
     const std::shared_ptr<GlooTransport> &transport, int number);

// A rank that others wait for until a deadline.
struct MissingRank {
  int rank = 0;
  // It has not begun the others' collective; otherwise it is in none that is
  // later, and does not answer.
  bool behind = false;
};

// Asks the store for the ranks' progress. The lost rank is one that has begun
// fewer collectives than this rank's `begun` and waits in none, or else one
// that does not answer; the others are told. Nothing if all wait alike: the
// store then learns which rank this one waits for, and tells all if two ranks
// cannot reach each other (store/Parted.h). Takes at most 0.45 s.
std::optional<MissingRank> findMissingRank(const Rendezvous &rendezvous,
                                           int64_t begun,
                                           std::optional<int> waitedFor);

} // namespace dlc

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

  // Exchanges addresses through the store, in a swap named `name`, and
  // connects. Throws gloo's exceptions.
  void connect(StoreClient &store, const std::string &name,
               const std::shared_ptr<GlooTransport> &transport);
  // The ranks by address, in the form of gloo's errors.
  const std::map<std::string, int> &peers() const { return peers_; }

private:
  std::map<std::string, int> peers_;
};

// Connects all ranks through rank 0's store, for the `number`th rendezvous,
// which leaves nothing in the store. Gloo accepts whichever process connects
// first, so each rank then proves over each connection that it knows a secret
// from the store. Throws gloo's exceptions; one names the rank whose place a
// stranger took.
Result<std::shared_ptr<Mesh>>
meet(const Rendezvous &rendezvous,
     const std::shared_ptr<GlooTransport> &transport, int number);

// A rank that others wait for until a deadline.
struct MissingRank {
  int rank = 0;
  // It has not begun the others' collective; otherwise it waits in no later
  // one, and does not answer.
  bool behind = false;
};

// Asks the store for the ranks' progress. The lost rank is one that has begun
// fewer collectives than this rank's `begun` and waits in none, or else one
// that does not answer; the store tells the others. Empty if all wait for the
// same collective: the store is then told which rank this one waits for, and
// tells all if two ranks cannot reach each other (store/Parted.h). Takes at
// most 0.45 s.
std::optional<MissingRank> findMissingRank(const Rendezvous &rendezvous,
                                           int64_t begun,
                                           std::optional<int> waitedFor);

} // namespace dlc

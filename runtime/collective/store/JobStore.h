// SPDX-License-Identifier: Apache-2.0
// A rank's use of the job's store: finding it and connecting to the other
// ranks.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/store/StoreClient.h"

#include <gloo/rendezvous/store.h>

namespace dlc {

// A connection that has sent its rank. Retries until rank 0 answers or the
// rendezvous' timeout ends; Code::PeerLost.
Result<Socket> joinStore(const Rendezvous &rendezvous);
// The same where rank 0 publishes its store's address (Notice.h), which
// completes the rendezvous.
Result<Socket> findStore(Rendezvous &rendezvous);
// Rank 0 only: the socket of its store; publishes the address if required.
Result<Socket> listenForRanks(Rendezvous &rendezvous);

// Gloo's store interface: throws gloo's exceptions, naming the rank when one
// that others wait for is lost.
class GlooStore : public gloo::rendezvous::Store {
public:
  GlooStore(Socket socket, std::chrono::milliseconds timeout)
      : client_(std::move(socket), timeout), timeout_(timeout) {}

  void set(const std::string &key, const std::vector<char> &data) override;
  std::vector<char> get(const std::string &key) override;
  void wait(const std::vector<std::string> &keys) override;
  void wait(const std::vector<std::string> &keys,
            const std::chrono::milliseconds &timeout) override;

private:
  StoreClient client_;
  std::chrono::milliseconds timeout_;
};

} // namespace dlc

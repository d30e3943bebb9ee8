// SPDX-License-Identifier: Apache-2.0
// What a rank does with the job's store: finds it and meets the others.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/store/StoreClient.h"

#include <gloo/rendezvous/store.h>

namespace dlc {

// A connection that said who it is. Tries until rank 0 answers or the
// rendezvous' timeout is over; Code::PeerLost.
Result<Socket> joinStore(const Rendezvous &rendezvous);
// The same where rank 0 has a notice of its store (Notice.h): the rendezvous
// is then complete.
Result<Socket> findStore(Rendezvous &rendezvous);
// Rank 0 alone: the socket at which its store is to listen; leaves the notice
// if there is to be one.
Result<Socket> listenForRanks(Rendezvous &rendezvous);

// As gloo expects of a store: throws its exceptions, naming the rank when one
// is lost that others wait for.
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

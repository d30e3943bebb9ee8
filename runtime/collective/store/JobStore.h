// What a rank does with the job's store: finds it, meets the others, and hears
// of their deaths.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/store/StoreClient.h"

#include <gloo/rendezvous/store.h>

#include <functional>
#include <thread>

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

// A rank's place in the job for as long as it lives: when its connection closes
// without a farewell, the rank is lost.
class JobWatch {
public:
  // `lost` is called at most once, by a thread of the watch, with the rank that
  // is gone first.
  JobWatch(Socket socket, std::function<void(int rank)> lost);
  // Says farewell, unless the rank was abandoned.
  ~JobWatch();

  void abandon() { abandoned_ = true; }

private:
  void listen();
  bool say(store::Query query, std::chrono::seconds patience) const;

  Socket socket_;
  std::function<void(int)> lost_;
  bool abandoned_ = false;
  int wake_; // readable: the thread is to end
  std::thread thread_;
};

} // namespace dlc

// Where the ranks of a job meet: a key-value store that rank 0 serves over TCP
// and everyone, rank 0 too, is a client of. It also tells all ranks at once
// when one of them is gone.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/collective/Socket.h"

#include <gloo/rendezvous/store.h>

#include <functional>
#include <memory>
#include <thread>

namespace dlc {

// Whoever connects has to say which rank it is, with the job's token, before
// anything else, and is disconnected otherwise; so is who takes longer than 10
// s for a message, sends one that is not known or too long, or stores too much.
struct StoreLimits {
  static constexpr uint32_t kKey = 256, kValue = 1 << 20; // bytes
  static constexpr size_t kToken = 128;                   // bytes
  static constexpr size_t kTotal = 256 << 20;             // bytes of all values
  static constexpr size_t kStrangers = 64; // connections that said no rank yet
  static constexpr size_t kEach = 4;       // connections of a rank
  static constexpr std::chrono::seconds kPatience{10};
};

// Serves in a thread until it is destroyed.
class TcpStoreServer {
public:
  // For the ranks of a job of `size`; an empty token: none is asked for.
  static Result<std::unique_ptr<TcpStoreServer>>
  serve(Socket listener, int size, const std::string &token);
  ~TcpStoreServer();

  // Rank 0 fails: the others take it for lost when it ends.
  void abandon();

private:
  class Impl;
  explicit TcpStoreServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A connection that said who it is. Tries until rank 0 answers or the
// rendezvous' timeout is over; Code::PeerLost.
Result<Socket> joinStore(const Rendezvous &rendezvous);

// Throws gloo's exceptions, as gloo expects of a store; naming the rank when
// one is lost that others wait for.
class TcpStoreClient : public gloo::rendezvous::Store {
public:
  TcpStoreClient(Socket socket, std::chrono::milliseconds timeout)
      : socket_(std::move(socket)), timeout_(timeout) {}

  void set(const std::string &key, const std::vector<char> &data) override;
  std::vector<char> get(const std::string &key) override;
  void wait(const std::vector<std::string> &keys) override;
  void wait(const std::vector<std::string> &keys,
            const std::chrono::milliseconds &timeout) override;

private:
  std::vector<char> get(const std::string &key,
                        std::chrono::milliseconds timeout);

  Socket socket_;
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

  Socket socket_;
  std::function<void(int)> lost_;
  bool abandoned_ = false;
  int wake_; // readable: the thread is to end
  std::thread thread_;
};

} // namespace dlc

// A key-value store of one job, over TCP: how ranks on several machines find
// each other's addresses. Rank 0 serves; everyone, rank 0 too, is a client.
#pragma once

#include "runtime/base/Status.h"

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <memory>
#include <string>

namespace dlc {

// Serves until it is destroyed. Keys have at most 4 KB, values 1 MB; a peer
// that sends anything else is disconnected.
class TcpStoreServer {
public:
  static Result<std::unique_ptr<TcpStoreServer>>
  listen(const std::string &address, int port);
  ~TcpStoreServer();

  int port() const; // the one chosen if 0 was asked for

private:
  class Impl;
  explicit TcpStoreServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Throws gloo's exceptions, as gloo expects of a store.
class TcpStoreClient : public gloo::rendezvous::Store {
public:
  // Tries until the server answers, at most `timeout`.
  static Result<std::unique_ptr<TcpStoreClient>>
  connect(const std::string &address, int port,
          std::chrono::milliseconds timeout);
  ~TcpStoreClient() override;

  void set(const std::string &key, const std::vector<char> &data) override;
  std::vector<char> get(const std::string &key) override;
  void wait(const std::vector<std::string> &keys) override;
  void wait(const std::vector<std::string> &keys,
            const std::chrono::milliseconds &timeout) override;

private:
  TcpStoreClient(int socket, std::chrono::milliseconds timeout)
      : socket_(socket), timeout_(timeout) {}

  int socket_;
  std::chrono::milliseconds timeout_;
};

} // namespace dlc

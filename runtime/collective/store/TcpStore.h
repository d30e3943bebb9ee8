// SPDX-License-Identifier: Apache-2.0
// Rank 0's key-value store: a server of PyTorch's TCPStore protocol that also
// tracks the ranks and notifies all of them when one is lost.
#pragma once

#include "runtime/collective/Socket.h"
#include "runtime/collective/store/Heartbeats.h"
#include "runtime/collective/store/Protocol.h"

#include <memory>

namespace dlc {

// A key that only rank 0's store reports to Check.
constexpr char kServes[] = "/dlc/serves";

// A client must validate and, if there is a token, send its rank before any
// query but Check; otherwise it is disconnected. So is a client that takes
// longer than 10 s for a message or its answer, sends an unknown or too long
// message, or stores too much. Without a token any client of the protocol is
// admitted.
struct StoreLimits : store::Limits {
  static constexpr size_t kTotal = 256 << 20; // bytes of all keys and values
  static constexpr size_t kStrangers = 64; // connections that said no rank yet
  static constexpr size_t kEach = 4;       // connections of a rank
  static constexpr std::chrono::seconds kPatience{10};
};

// Serves on its own thread until it is destroyed.
class TcpStoreServer {
public:
  // For the ranks of a job of `size`; an empty token: no token is required. A
  // rank without a heartbeat for `silence` is lost; 0: only when its connection
  // closes.
  static Result<std::unique_ptr<TcpStoreServer>>
  serve(Socket listener, int size, const std::string &token,
        std::chrono::milliseconds silence = kSilence);
  ~TcpStoreServer();

  // Rank 0 fails: the others treat it as lost when it ends.
  void abandon();

private:
  class Impl;
  explicit TcpStoreServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc

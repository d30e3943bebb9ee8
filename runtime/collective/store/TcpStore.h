// SPDX-License-Identifier: Apache-2.0
// Rank 0's key-value store: a server of PyTorch's TCPStore protocol that also
// tracks the ranks and notifies all of them when one is lost.
#pragma once

#include "runtime/collective/Socket.h"
#include "runtime/collective/store/Heartbeats.h"
#include "runtime/collective/store/Protocol.h"

#include <memory>

namespace dlc {

// A key for which only rank 0's store answers Check with kReady, to tell it
// from other stores.
constexpr char kServes[] = "/dlc/serves";

// A client must validate and, if there is a token, send its rank before any
// query but Check; otherwise it is disconnected. So is a client that takes
// longer than 10 s for a message or its answer, sends an unknown or too long
// message, or stores too much. Without a token any client of the protocol is
// admitted.
struct StoreLimits : store::Limits {
  static constexpr size_t kTotal = 256 << 20; // bytes of all keys and values
  static constexpr size_t kStrangers = 64;    // connections without a rank
  static constexpr size_t kEach = 4;          // connections of a rank
  static constexpr std::chrono::seconds kPatience{10};
};

// Runs a server on its own thread until destroyed.
class TcpStoreServer {
public:
  // Serves a job of `size` ranks; an empty token: none is required. A rank
  // without a heartbeat for `silence` is lost; 0: when its connection closes.
  static Result<std::unique_ptr<TcpStoreServer>>
  serve(Socket listener, int size, const std::string &token,
        std::chrono::milliseconds silence = kSilence);
  ~TcpStoreServer();

  // Rank 0 has failed: the others treat it as lost when it ends.
  void abandon();

private:
  class Impl;
  explicit TcpStoreServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc

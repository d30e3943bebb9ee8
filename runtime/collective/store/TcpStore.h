// SPDX-License-Identifier: Apache-2.0
// Rank 0's key-value store: a server of PyTorch's TCPStore protocol that also
// knows which ranks are there, and tells all at once when one of them is gone.
#pragma once

#include "runtime/collective/Socket.h"
#include "runtime/collective/store/Heartbeats.h"
#include "runtime/collective/store/Protocol.h"

#include <memory>

namespace dlc {

// A key that Check finds in it: it is rank 0's and no other store.
constexpr char kServes[] = "/dlc/serves";

// Whoever connects has to validate, and with a token to say its rank, before
// anything but Check, and is disconnected otherwise; so is who takes longer
// than 10 s for a message or its answer, sends one that is not known or too
// long, or stores too much. Without a token any client of the protocol may use
// it.
struct StoreLimits : store::Limits {
  static constexpr size_t kTotal = 256 << 20; // bytes of all keys and values
  static constexpr size_t kStrangers = 64; // connections that said no rank yet
  static constexpr size_t kEach = 4;       // connections of a rank
  static constexpr std::chrono::seconds kPatience{10};
};

// Serves in a thread until it is destroyed.
class TcpStoreServer {
public:
  // For the ranks of a job of `size`; an empty token: none is asked for. A rank
  // without a sign of life for `silence` is lost; 0: only if it closes.
  static Result<std::unique_ptr<TcpStoreServer>>
  serve(Socket listener, int size, const std::string &token,
        std::chrono::milliseconds silence = kSilence);
  ~TcpStoreServer();

  // Rank 0 fails: the others take it for lost when it ends.
  void abandon();

private:
  class Impl;
  explicit TcpStoreServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc

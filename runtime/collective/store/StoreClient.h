// SPDX-License-Identifier: Apache-2.0
// A client of a server of PyTorch's TCPStore protocol.
#pragma once

#include "runtime/collective/Socket.h"
#include "runtime/collective/store/Protocol.h"

#include <optional>

namespace dlc {

// A rank's progress at its last heartbeat.
struct RankPlace {
  int64_t progress = 0; // from progressOf()
  int64_t since = -1;   // milliseconds; -1: never heard, or it has left

  int64_t begun() const { return progress >> 1; } // collectives
  bool waits() const { return (progress & 1) != 0; }
};
// A heartbeat's payload: the number of collectives begun, and whether the rank
// waits in one that ends at the job's deadline.
constexpr int64_t progressOf(int64_t begun, bool waits) {
  return begun << 1 | int64_t(waits);
}

// One thread at a time. Each call ends within the timeout, with Code::PeerLost
// if the store has not answered; the client is then unusable. Keys are passed
// unchanged: PyTorch's clients prepend a "/".
class StoreClient {
public:
  StoreClient(Socket socket, std::chrono::milliseconds timeout)
      : socket_(std::move(socket)), timeout_(timeout) {}

  // Connects and validates, with one attempt and without waiting for an answer.
  static Result<StoreClient> connect(const std::string &address, int port,
                                     std::chrono::milliseconds timeout);

  Status set(const std::string &key, const std::string &value);
  // Returns the value afterwards: `desired` if the value was `expected`. A key
  // that is not set compares as ""; unless "" is expected it stays unset, and
  // `expected` is returned.
  Result<std::string> compareSet(const std::string &key,
                                 const std::string &expected,
                                 const std::string &desired);
  // Waits until the key is set, and returns its value.
  Result<std::string> get(const std::string &key);
  // The value of a set key; otherwise the store disconnects this client.
  Result<std::string> read(const std::string &key);
  Result<int64_t> add(const std::string &key, int64_t number);
  Result<bool> check(const std::vector<std::string> &keys);
  // Waits until all keys are set; false after `within`. With rank 0's store, a
  // rank gets an error that names a rank that is lost meanwhile.
  Result<bool> wait(const std::vector<std::string> &keys,
                    std::chrono::milliseconds within);
  Result<int64_t> count();
  Result<bool> erase(const std::string &key);
  Status append(const std::string &key, const std::string &value);
  // Waits until all keys are set, and returns their values.
  Result<std::vector<std::string>> getAll(const std::vector<std::string> &keys);
  Status setAll(const std::vector<std::string> &keys,
                const std::vector<std::string> &values);

  // Only for ranks, with rank 0's store: requests heartbeats of all ranks;
  // reads their progress; reports to all that a rank is lost, or to the store
  // that this rank waits for it in vain (Parted.h).
  Status askForBeats();
  Result<std::vector<RankPlace>> places();
  Status accuse(int rank);
  Status miss(int rank);
  // Exchanges data among all ranks: each sends a text to all ranks, and in
  // `pieces` one piece of equal size to each. All ranks call it, within the
  // timeout; an error that names a rank that is lost meanwhile.
  struct Swapped {
    std::string all, piece;
  };
  Result<std::vector<Swapped>> swap(const std::string &key,
                                    const std::string &all,
                                    const std::string &pieces, int ranks);

  const Socket &socket() const { return socket_; }
  Socket release() && { return std::move(socket_); }

private:
  using Clock = Socket::Clock;

  Status send(const store::Message &message, Clock::time_point deadline);
  Result<std::string> receiveText(Clock::time_point deadline);
  template <class T> Result<T> receive(Clock::time_point deadline);
  template <class T> Result<T> ask(const store::Message &message);
  Clock::time_point deadline() const { return Clock::now() + timeout_; }
  Status needed(const std::vector<std::string> &keys);
  Result<uint8_t> receiveAnswer(Clock::time_point deadline);

  Socket socket_;
  std::chrono::milliseconds timeout_;
};

} // namespace dlc

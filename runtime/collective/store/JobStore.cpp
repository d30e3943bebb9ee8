// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/JobStore.h"

#include "runtime/collective/store/Notice.h"
#include "runtime/collective/store/TcpStore.h"

#include <thread>

namespace dlc {

using namespace store;
using Clock = Socket::Clock;

// One attempt; `refused`: rank 0 answered that it does not admit this rank.
static Result<Socket> join(const Rendezvous &rendezvous,
                           Clock::time_point deadline, bool &refused) {
  DLC_ASSIGN(Socket socket,
             Socket::connect(rendezvous.address, rendezvous.port, deadline));
  const std::string hello =
      textOf({Query::Validate, {}, {}, store::kMagic}) +
      textOf({Query::Hello, {}, {rendezvous.token}, rendezvous.rank});
  uint32_t answer = 0;
  const bool answered = socket.send(hello.data(), hello.size(), deadline) &&
                        socket.receive(&answer, sizeof answer, deadline);
  if (answered && answer == kWelcome)
    return socket;
  refused = answered && answer == kRefused;
  if (refused)
    return peerLost("rank 0 at {} refuses rank {}: DLC_JOB_TOKEN differs, or "
                    "it is of another job",
                    placeText(rendezvous.address, rendezvous.port),
                    rendezvous.rank);
  return peerLost("what listens at {} does not answer as rank 0 does",
                  placeText(rendezvous.address, rendezvous.port));
}

// Calls `attempt` until it succeeds, sets `final`, or the timeout is over.
template <class Attempt>
static Result<Socket> insist(std::chrono::milliseconds timeout,
                             Attempt &&attempt) {
  const Clock::time_point deadline = Clock::now() + timeout;
  constexpr std::chrono::milliseconds kPause(20);
  for (bool final = false;;) {
    Result<Socket> joined = attempt(deadline, final);
    // An attempt with little time left would replace this error by a timeout.
    if (joined.ok() || final || Clock::now() + 4 * kPause >= deadline)
      return joined;
    std::this_thread::sleep_for(kPause);
  }
}

Result<Socket> joinStore(const Rendezvous &rendezvous) {
  return insist(rendezvous.timeout,
                [&](Clock::time_point deadline, bool &refused) {
                  return join(rendezvous, deadline, refused);
                });
}

// Connects to the first of the ports where rank 0 admits this rank. Where it is
// refused or gets no answer, another job or no store listens.
static Result<Socket> joinAtOneOf(Rendezvous &rendezvous,
                                  Clock::time_point deadline) {
  std::vector<int> ports = rendezvous.otherPorts;
  ports.insert(ports.begin(), rendezvous.port);
  Status first;
  for (const int port : ports) {
    Rendezvous found = rendezvous;
    found.port = port;
    bool refused = false;
    Result<Socket> joined =
        join(found, std::min(deadline, Clock::now() + std::chrono::seconds(3)),
             refused);
    if (joined.ok()) {
      rendezvous = found;
      return joined;
    }
    if (first.ok() || refused)
      first = joined.status();
  }
  return first;
}

// Whether another store listens at rank 0's address; rank 0's notice then is,
// or will be, in that store.
static Result<bool> isTaken(const Rendezvous &rendezvous,
                            Clock::time_point deadline) {
  const auto soon = std::min(
      StoreLimits::kPatience,
      std::chrono::ceil<std::chrono::seconds>(deadline - Clock::now()));
  DLC_ASSIGN(StoreClient client,
             StoreClient::connect(rendezvous.address, rendezvous.port, soon));
  auto serves = client.check({kServes});
  if (serves.ok())
    return !*serves;
  return peerLost("what listens at {} does not answer as rank 0 does",
                  placeText(rendezvous.address, rendezvous.port));
}

// Each attempt reads the notice again: it may be of an earlier start.
Result<Socket> findStore(Rendezvous &rendezvous) {
  if (rendezvous.notice.empty() && rendezvous.otherPorts.empty())
    return joinStore(rendezvous);
  if (rendezvous.notice.empty())
    return insist(rendezvous.timeout, [&](Clock::time_point deadline, bool &) {
      return joinAtOneOf(rendezvous, deadline);
    });
  return insist(rendezvous.timeout,
                [&](Clock::time_point deadline, bool &final) -> Result<Socket> {
                  Rendezvous found = rendezvous;
                  bool taken = true, refused = false;
                  if (found.notice.ifTaken) {
                    DLC_ASSIGN(taken, isTaken(found, deadline));
                  }
                  if (taken) {
                    const Status read = readNotice(found, deadline);
                    rendezvous.notice = found.notice;
                    DLC_TRY(read);
                  }
                  const auto soon =
                      std::min(deadline, Clock::now() + StoreLimits::kPatience);
                  Result<Socket> joined = join(found, soon, refused);
                  final = refused && !taken;
                  DLC_ASSIGN(Socket socket, std::move(joined));
                  rendezvous = found;
                  return socket;
                });
}

Result<Socket> listenForRanks(Rendezvous &rendezvous) {
  if (rendezvous.listener < 0 &&
      (rendezvous.notice.empty() || rendezvous.notice.ifTaken)) {
    auto listener = Socket::listen(rendezvous.address, rendezvous.port);
    for (const int port : rendezvous.otherPorts)
      if (!listener.ok()) {
        listener = Socket::listen(rendezvous.address, port);
        rendezvous.port = port;
      }
    if (listener.ok() || rendezvous.notice.empty())
      return listener;
    const auto taken =
        isTaken(rendezvous, Clock::now() + std::chrono::seconds(1));
    if (!taken.ok() || !*taken)
      return listener;
  }
  if (rendezvous.listener < 0)
    DLC_TRY(leaveNotice(rendezvous));
  return Socket(std::exchange(rendezvous.listener, -1));
}

} // namespace dlc

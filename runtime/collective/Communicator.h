// SPDX-License-Identifier: Apache-2.0
// Collectives among the ranks of one job.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dlc {

class FlightLog;

// Mean is the sum, divided before it is rounded to 16 bits: by the number of
// ranks or, when reduced by hosts, by the ranks of a host and then by the
// number of hosts. Max is NaN if any value is NaN.
enum class ReduceOp { Sum, Mean, Max };

// All ranks make the same calls in the same order, one at a time. A call
// returns within the deadline: with Code::PeerLost, naming the rank if known,
// when a rank is dead or silent. After an error the communicator is unusable.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Reduces `count` elements in place, to bitwise equal results on all ranks
  // and in every run: summed from rank 0 to the last rank or, by hosts
  // (Rendezvous), over the ranks of each host and then over the hosts. F32,
  // F64, BF16, F16 (summed in f32, rounded once); I64, I32 except for means.
  virtual Status allReduce(void *data, size_t count, DType type,
                           ReduceOp op) = 0;

  // `data` consists of adjacent shards, one per rank in rank order, with the
  // given numbers of elements; a shard may be empty. `own`, which may be inside
  // `data`, receives this rank's shard, reduced to the same bits as by
  // allReduce() for any sharding. The rest of `data` is undefined afterwards.
  //
  // If there are fewer shards than ranks, their number must divide the number
  // of ranks: each group of that many consecutive ranks has all shards. They
  // are reduced within each group, then over the ranks with the same position
  // in their groups.
  virtual Status reduceScatter(void *data, std::span<const size_t> pieces,
                               void *own, DType type, ReduceOp op) = 0;

  // In place: `data` consists of adjacent shards, one per rank in rank order,
  // with the given sizes in bytes; a shard may be empty. Each rank has its own
  // shard before and all shards after. Fewer shards form groups as in
  // reduceScatter().
  virtual Status allGather(void *data, std::span<const size_t> pieces) = 0;

  // Copies root's bytes to all ranks.
  virtual Status broadcast(void *data, size_t bytes, int root) = 0;

  // Blocks until all ranks have called it.
  virtual Status barrier() = 0;

  // Creates another communicator of the same ranks with its own deadline; all
  // ranks call this. The two may be used by different threads.
  virtual Result<std::unique_ptr<Communicator>>
  sibling(std::chrono::milliseconds timeout) = 0;

  // This rank has failed: the other ranks do not wait for it, unless all ranks
  // had agreed to end. No call may follow.
  virtual void abandon() {}
  // All ranks know why the job ends, and each ends on its own.
  virtual void agreeToEnd() {}

  // If a rank is lost and this one hangs outside of the calls, so that its
  // communicators still exist `silence` later, another thread calls `record`,
  // which appends this rank's activity to the error, and then `leave`, which
  // ends the process. While `record` returns false (a checkpoint is being
  // written) it is called again each second. Without `leave` nothing is called.
  // Setting either waits for a running call.
  virtual void setRecord(std::function<bool(Status &why)> /*record*/) {}
  virtual void setLeave(std::function<void(const Status &why)> /*leave*/) {}

  // Gathers all ranks' texts, in rank order, each at most a few kilobytes.
  virtual Result<std::vector<std::string>>
  allGather(const std::string &text) = 0;

  // The log of all calls, also of siblings; null for a job of one rank.
  virtual FlightLog *flightLog() { return nullptr; }
  // The flight log's subject of the following calls; below 0: none.
  void setSubject(int subject) { subject_ = subject; }

protected:
  int subject_ = -1;
};

// A job of one rank: every call succeeds immediately.
std::unique_ptr<Communicator> makeSingleCommunicator();

// Where rank 0 publishes the address and port of its store, if they cannot be
// known beforehand: a key of another store, a file, Hydra's key-value space
// (store/Pmi.h), or a PMIx server (store/Pmix.h).
struct Notice {
  std::string address; // of the store with the key,
  int port = 0;        // or 0: a file
  std::string place;   // key or path; empty: no notice is needed
  std::string said;    // written by this process, or read from the launcher
  int hydra = -1;      // file descriptor of Hydra
  bool pmix = false;
  // Publish only if another store listens at rank 0's address.
  bool ifTaken = false;

  bool empty() const { return place.empty(); }
  bool isLaunchers() const { return hydra >= 0 || pmix; }
  std::string text() const; // for messages
};

// How a process finds the other ranks: by rank 0's store (store/TcpStore.h).
struct Rendezvous {
  int rank = 0;
  int size = 1;
  std::string address; // "127.0.0.1"
  int port = 0;
  // Ports at which rank 0 tries to listen if `port` is in use, in order.
  std::vector<int> otherPorts;
  std::string token; // of the job; empty: none
  int listener = -1; // rank 0's, if already open; makeGlooCommunicator owns it
  Notice notice;     // publishes address, port and token; may be empty
  std::chrono::milliseconds timeout{60'000}; // of every call, and of connecting
  // Time without a heartbeat after which a rank is lost; 0: timeouts only.
  std::chrono::milliseconds silence{10'000};
  // All-reduces of more than a few kilobytes reduce over the ranks of each
  // host, then over the hosts, which sends fewer bytes between hosts. All ranks
  // set the same value, and all hosts have the same number of ranks.
  bool byHosts = false;
  std::string host; // of this rank; empty: the system's name
  // Network interface of this rank; empty: GLOO_SOCKET_IFNAME, or the one from
  // which rank 0 is reached.
  std::string interface;
};

// For ranks on this machine: a free port of 127.0.0.1, whose listener stays
// open, and an unguessable token. Each process sets its own rank.
Result<Rendezvous> meetHere(int size);

// Over TCP. Blocks until all ranks are connected, and makes this process ignore
// SIGPIPE. The calls of all ranks end within a second, naming the rank, when a
// rank dies, abandons its communicator, sends no heartbeat for `silence`, or is
// waited for until the timeout. A rank that left normally is an error only for
// ranks that still need it.
Result<std::unique_ptr<Communicator>>
makeGlooCommunicator(const Rendezvous &rendezvous);

} // namespace dlc

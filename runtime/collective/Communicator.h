// SPDX-License-Identifier: Apache-2.0
// Collectives of the ranks of one job.
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
// ranks, or of a host's and then of hosts. Max is NaN if any value is NaN.
enum class ReduceOp { Sum, Mean, Max };

// Every rank makes the same calls in the same order, one at a time. A call
// returns within the deadline: Code::PeerLost, naming the rank if known, when a
// rank is dead or silent. After an error the communicator is unusable.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // In place, `count` elements, with equal bits on all ranks and in every run:
  // summed from rank 0 to the last rank or, by hosts (Rendezvous), over the
  // ranks of each host and then over the hosts. F32, F64, BF16, F16 (summed in
  // f32, rounded once) and, except for means, I64, I32.
  virtual Status allReduce(void *data, size_t count, DType type,
                           ReduceOp op) = 0;

  // `data` consists of adjacent shards, one per rank in rank order, with the
  // given numbers of elements; a shard may be empty. `own`, which may be inside
  // `data`, receives this rank's shard, reduced to the same bits as by
  // allReduce() for any sharding. The rest of `data` is undefined afterwards.
  //
  // Of fewer shards than ranks, a divisor of their number, each group of so
  // many ranks that follow each other has all: they are reduced within each
  // group, then over the ranks that have the same one.
  virtual Status reduceScatter(void *data, std::span<const size_t> pieces,
                               void *own, DType type, ReduceOp op) = 0;

  // In place: `data` consists of adjacent shards, one per rank in rank order,
  // with the given sizes in bytes. Each rank has its own shard before and all
  // shards after. A shard may be empty. Of fewer shards, groups as above.
  virtual Status allGather(void *data, std::span<const size_t> pieces) = 0;

  // Root's bytes on all ranks.
  virtual Status broadcast(void *data, size_t bytes, int root) = 0;

  // Returns when all ranks have called it.
  virtual Status barrier() = 0;

  // Another communicator of the same ranks with its own deadline; all ranks
  // call this. Different threads may use the two.
  virtual Result<std::unique_ptr<Communicator>>
  sibling(std::chrono::milliseconds timeout) = 0;

  // This rank has failed: the others need not wait for it, unless all ranks had
  // agreed to end. No call may follow.
  virtual void abandon() {}
  // All ranks know why they end, and end on their own.
  virtual void agreeToEnd() {}

  // When a rank is lost and this one hangs outside of the calls, so that it has
  // not destroyed its communicators `silence` later, another thread calls
  // `record`, which adds to the error what this rank does, and then `leave`,
  // which ends the process. While `record` gives false (a checkpoint is being
  // written) it is asked again each second. Without `leave` nothing is called.
  // Setting them waits until no call of them is left.
  virtual void setRecord(std::function<bool(Status &why)> /*record*/) {}
  virtual void setLeave(std::function<void(const Status &why)> /*leave*/) {}

  // The text of every rank, in rank order; at most a few kilobytes, of any
  // lengths.
  virtual Result<std::vector<std::string>>
  allGather(const std::string &text) = 0;

  // The recorder of all calls, including siblings' calls; null for a job of one
  // rank.
  virtual FlightLog *flightLog() { return nullptr; }
  // The recorder's subject of the following calls; below 0: none.
  void setSubject(int subject) { subject_ = subject; }

protected:
  int subject_ = -1;
};

// A job of one rank: every call succeeds immediately.
std::unique_ptr<Communicator> makeSingleCommunicator();

// Where rank 0 publishes the address and port of its store, if they cannot be
// known beforehand: a key of another store, a file, or what the launcher keeps:
// Hydra's key-value space (store/Pmi.h), a PMIx server (store/Pmix.h).
struct Notice {
  std::string address; // of the store that keeps it,
  int port = 0;        // or 0: it is a file
  std::string place;   // key or path; empty: no notice is needed
  std::string said;    // by this process, or what the launcher said
  int hydra = -1;      // its descriptor
  bool pmix = false;
  // Only if another store listens at rank 0's address.
  bool ifTaken = false;

  bool empty() const { return place.empty(); }
  bool isLaunchers() const { return hydra >= 0 || pmix; }
  std::string text() const; // as messages call it
};

// How a process finds the others: the address of rank 0's store
// (store/TcpStore.h).
struct Rendezvous {
  int rank = 0;
  int size = 1;
  std::string address; // "127.0.0.1"
  int port = 0;
  // Where rank 0 listens instead if another process has the port, in order.
  std::vector<int> otherPorts;
  std::string token; // of the job; empty: none
  int listener = -1; // of rank 0, if it is open already; whoever meets owns it
  Notice notice;     // of address, port and token, or none
  std::chrono::milliseconds timeout{60'000}; // of every call, and of meeting
  // Time without a heartbeat after which a rank is lost; 0: timeouts only.
  std::chrono::milliseconds silence{10'000};
  // All-reduces of more than a few kilobytes reduce over the ranks of each
  // host, then over the hosts, which sends fewer bytes between hosts. All ranks
  // set the same value, and all hosts have the same number of ranks.
  bool byHosts = false;
  std::string host; // that this rank is on; empty: by the system's name
  // That the ranks connect by; empty: GLOO_SOCKET_IFNAME, or the one by which
  // rank 0 is reached.
  std::string interface;
};

// For ranks on this machine: a free port of 127.0.0.1, whose listener stays
// open, and an unguessable token. Each rank sets its own number.
Result<Rendezvous> meetHere(int size);

// Over TCP. Blocks until all ranks are connected, and makes this process ignore
// SIGPIPE. The calls of all ranks end within a second, naming the rank, when a
// rank dies, abandons its communicator, sends no heartbeat for `silence`, or is
// waited for until the timeout. A rank that left normally is missed only by
// ranks that still need it.
Result<std::unique_ptr<Communicator>>
makeGlooCommunicator(const Rendezvous &rendezvous);

} // namespace dlc

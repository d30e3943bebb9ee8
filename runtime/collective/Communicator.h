// SPDX-License-Identifier: Apache-2.0
// The ranks of one job, and what they do together.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dlc {

class FlightRecorder;

// Mean divides each rank's values by the number of ranks, then adds. Max is NaN
// where one is.
enum class ReduceOp { Sum, Mean, Max };

// Every rank makes the same calls in the same order, one at a time. A call
// returns within the deadline: Code::PeerLost, naming the rank if it is known,
// when one is dead or silent; after an error the communicator is of no use.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // In place, `count` elements; the same bits on all ranks and in every run:
  // each is added from rank 0's to the last one's, or by hosts (Rendezvous),
  // from the first rank's to the last one's of each and then from the first
  // host's to the last one's. F32, F64, BF16, F16 (added
  // in f32, rounded once) and I64, I32, of which there are no means.
  virtual Status allReduce(void *data, size_t count, DType type,
                           ReduceOp op) = 0;

  // Of adjacent pieces, one a rank, in their order and of so many elements,
  // `own`, which may be in `data`, gets this rank's, reduced to the same bits
  // as by allReduce(), wherever pieces begin. What else is in `data` is
  // undefined after. A piece may be empty.
  virtual Status reduceScatter(void *data, std::span<const size_t> pieces,
                               void *own, DType type, ReduceOp op) = 0;

  // In place: of adjacent pieces, one a rank, in their order and of these
  // bytes, each rank has its own; then all have all. A piece may be empty.
  virtual Status allGather(void *data, std::span<const size_t> pieces) = 0;

  // Root's bytes on all ranks.
  virtual Status broadcast(void *data, size_t bytes, int root) = 0;

  // Returns when all ranks have called it.
  virtual Status barrier() = 0;

  // Another communicator of the same ranks, with a deadline of its own; all
  // ranks call it. The two may be used by different threads.
  virtual Result<std::unique_ptr<Communicator>>
  sibling(std::chrono::milliseconds timeout) = 0;

  // This rank has failed: the others need not wait for it, unless all ranks had
  // agreed to end. Nothing else may be called after.
  virtual void abandon() {}
  // All ranks know why they end, and end by themselves.
  virtual void agreeToEnd() {}

  // Every rank's text, by rank; a few kilobytes at most, any length each.
  virtual Result<std::vector<std::string>>
  allGather(const std::string &text) = 0;

  // Of all calls, those of siblings too; null for a job of one rank.
  virtual FlightRecorder *recorder() { return nullptr; }
  // What the calls from now on are about, of the recorder; below 0: nothing.
  void setSubject(int subject) { subject_ = subject; }

protected:
  int subject_ = -1;
};

// A job of one rank: every call succeeds at once.
std::unique_ptr<Communicator> makeSingleCommunicator();

// Where rank 0 says at which address and port its store listens, if nobody
// could know that beforehand: a key of another store, a file, or what Hydra
// keeps (store/Pmi.h).
struct Notice {
  std::string address; // of the store that keeps it,
  int port = 0;        // or 0: it is a file
  std::string place;   // key or path; empty: no notice is needed
  std::string said;    // by this process, or what Hydra said
  int hydra = -1;      // its descriptor
  // Only if something else listens where rank 0 is to.
  bool ifTaken = false;

  bool empty() const { return place.empty(); }
  std::string text() const; // as messages call it
};

// How a process finds the others: where rank 0's store (store/TcpStore.h)
// listens.
struct Rendezvous {
  int rank = 0;
  int size = 1;
  std::string address; // "127.0.0.1"
  int port = 0;
  std::string token; // of the job; empty: none
  int listener = -1; // of rank 0, if it is open already; whoever meets owns it
  Notice notice;     // of address, port and token, or none
  std::chrono::milliseconds timeout{60'000}; // of every call, and of meeting
  // A rank without a sign of life for so long is lost; 0: by timeouts alone.
  std::chrono::milliseconds silence{10'000};
  // All-reduces of more than a few kilobytes add up the ranks of each host,
  // then the hosts: less travels between them. All ranks say the same, and each
  // host has as many.
  bool byHosts = false;
  std::string host; // that this rank is on; empty: by the system's name
};

// For ranks on this machine: a free port of 127.0.0.1, whose listener stays
// open, and a token that nobody can guess. Each rank sets its own number.
Result<Rendezvous> meetHere(int size);

// Over TCP. Blocks until all ranks are connected. From then on this process
// ignores SIGPIPE. The death of a rank ends the calls of all others within a
// second and is named; so is one whose communicator was abandoned, one that
// gives no sign of life for `silence`, and one for which another has waited in
// vain until the timeout. One that left otherwise is only missed by those who
// still need it.
Result<std::unique_ptr<Communicator>>
makeGlooCommunicator(const Rendezvous &rendezvous);

} // namespace dlc

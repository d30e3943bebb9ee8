// The ranks of one job, and what they do together.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace dlc {

// mean divides each rank's values by the number of ranks, then adds.
enum class ReduceOp { Sum, Mean };

// Every rank makes the same calls in the same order, one at a time. A call
// returns within the deadline: Code::PeerLost, naming the rank if it is known,
// when one is dead or silent; after an error the communicator is of no use.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // In place, `count` elements; the same bits on all ranks and in every run.
  // F32, F64, BF16, F16 (added in f32) and I64, I32, for these only Sum.
  virtual Status allReduce(void *data, size_t count, DType type,
                           ReduceOp op) = 0;

  // Root's bytes on all ranks.
  virtual Status broadcast(void *data, size_t bytes, int root) = 0;

  // Returns when all ranks have called it.
  virtual Status barrier() = 0;

  // Another communicator of the same ranks, with a deadline of its own; all
  // ranks call it. The two may be used by different threads.
  virtual Result<std::unique_ptr<Communicator>>
  sibling(std::chrono::milliseconds timeout) = 0;

  // Every rank's text, by rank; a few kilobytes at most, any length each.
  virtual Result<std::vector<std::string>>
  allGather(const std::string &text) = 0;
};

// A job of one rank: every call succeeds at once.
std::unique_ptr<Communicator> makeSingleCommunicator();

// How a process finds the others.
struct Rendezvous {
  int rank = 0;
  int size = 1;
  std::string folder;  // a folder that all ranks see, or
  std::string address; // where rank 0 listens, "127.0.0.1", and
  int port = 0;
  std::chrono::milliseconds timeout{60'000}; // of every call, and of meeting
};

// Over TCP. Blocks until all ranks are connected; rank 0 then removes what the
// meeting has left, the folder too if it is empty. From then on this process
// ignores SIGPIPE.
Result<std::unique_ptr<Communicator>>
makeGlooCommunicator(const Rendezvous &rendezvous);

} // namespace dlc

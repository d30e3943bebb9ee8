// Collectives that run beside the computation: one thread does them in the
// order in which they were started, which is the same on all ranks.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/collective/Communicator.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace dlc {

// start() and wait() are for one thread. The communicator's deadlines bound how
// long wait() and the destructor block.
class CollectiveQueue {
public:
  explicit CollectiveQueue(Communicator &communicator);
  ~CollectiveQueue();

  // Registers an all-reduce in place; returns its ticket. Allocates.
  int add(void *data, size_t count, DType type, ReduceOp op);

  // Starts it; its last start must have been waited for. Allocates nothing.
  void start(int ticket);
  // Returns when it is done, with the first error of the queue if there was
  // one. After an error nothing more is sent.
  Status wait(int ticket);
  // Waits for everything that was started.
  Status drain();

private:
  struct Reduction {
    void *data;
    size_t count;
    DType type;
    ReduceOp op;
    bool pending = false;
  };
  void work();

  Communicator &communicator_;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::vector<Reduction> reductions_;
  std::vector<int> queue_; // ring of tickets, as large as reductions_
  size_t head_ = 0, length_ = 0;
  Status error_;
  bool stop_ = false;
  std::thread thread_; // last: it uses the rest
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Runs collectives in parallel with computation: one thread executes them in
// the order in which they were started, which is the same on all ranks.
#pragma once

#include "runtime/exec/reduce/Reducer.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace dlc {

// Uses host memory and a blocking communicator. wait() returns when the
// reduction is done. The communicator's deadlines bound how long it, endStep()
// and the destructor block.
class CollectiveQueue final : public Reducer {
public:
  explicit CollectiveQueue(Communicator &communicator);
  ~CollectiveQueue() override;

  Result<int> add(void *data, size_t count, DType type, ReduceOp op) override;
  Result<int> addScatter(void *data, std::vector<size_t> pieces, void *own,
                         DType type, ReduceOp op) override;
  Result<int> addGather(void *data, std::vector<size_t> pieces,
                        const void *own) override;
  void describe(int ticket, int64_t bucket, const std::string &nodes) override;
  Status start(int ticket) override;
  Status wait(int ticket) override;
  // Waits for all started collectives.
  Status endStep() override;
  Status status() override;
  std::optional<double> blocked() const override { return blocked_.count(); }

private:
  struct Reduction {
    void *data;
    size_t count;
    DType type;
    ReduceOp op;
    std::vector<size_t> pieces = {}; // not empty: reduce-scatter or all-gather
    void *own = nullptr;             // not null: reduce-scatter
    const void *source = nullptr;    // this rank's piece of an all-gather
    bool pending = false;
    int subject = -1;
  };
  int add(Reduction reduction);
  Status run(const Reduction &reduction);
  Status gather(const Reduction &reduction);
  void work();
  // Waits until done(), which is called with the lock held, is true.
  template <class Done>
  void block(std::unique_lock<std::mutex> &lock, const Done &done);

  Communicator &communicator_;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::vector<Reduction> reductions_;
  std::vector<int> queue_; // ring of tickets, as large as reductions_
  size_t head_ = 0, length_ = 0;
  Status error_;
  bool stop_ = false;
  std::chrono::duration<double> blocked_{}; // of the steps' thread
  std::thread thread_;                      // last: it uses the others
};

} // namespace dlc

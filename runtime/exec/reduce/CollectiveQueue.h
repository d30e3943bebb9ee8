// SPDX-License-Identifier: Apache-2.0
// Runs collectives in parallel with computation. Each channel has a thread that
// executes its collectives in the order in which they were started, which is
// the same on all ranks.
#pragma once

#include "runtime/exec/reduce/Reducer.h"

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace dlc {

// Uses host memory and blocking communicators. wait() returns when the
// reduction is done. The communicators' deadlines bound how long it, endStep()
// and the destructor block.
class CollectiveQueue final : public Reducer {
public:
  // `ahead`: a sibling of the communicator for reductions that overtake others,
  // or null.
  explicit CollectiveQueue(Communicator &communicator,
                           std::unique_ptr<Communicator> ahead = nullptr);
  ~CollectiveQueue() override;

  Result<int> add(void *data, size_t count, DType type, ReduceOp op) override;
  Result<int> addScatter(void *data, std::vector<size_t> pieces, void *own,
                         DType type, ReduceOp op) override;
  Result<int> addGather(void *data, std::vector<size_t> pieces,
                        const void *own) override;
  void overtake(int ticket) override;
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
    bool pending = false, ahead = false;
    int subject = -1;
  };
  struct Channel {
    Communicator &communicator;
    std::vector<int> queue = {}; // ring of tickets, as large as reductions_
    size_t head = 0, length = 0;
    std::thread thread = {};
  };
  int add(Reduction reduction);
  void open(Communicator &communicator);
  void close();
  Channel &channelOf(const Reduction &reduction) {
    return reduction.ahead ? channels_.back() : channels_.front();
  }
  static Status run(Communicator &communicator, const Reduction &reduction);
  void work(Channel &channel);
  // Waits until done(), which is called with the lock held, is true.
  template <class Done>
  void block(std::unique_lock<std::mutex> &lock, const Done &done);

  const std::unique_ptr<Communicator> ahead_;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::vector<Reduction> reductions_;
  Status error_; // of the channel that failed first
  bool stop_ = false;
  std::chrono::duration<double> blocked_{}; // of the steps' thread
  std::list<Channel> channels_; // of `communicator`, and of `ahead` if any
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/reduce/CollectiveQueue.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/collective/flight/FlightLog.h"

#include <cstring>
#include <numeric>

namespace dlc {

CollectiveQueue::CollectiveQueue(Communicator &communicator)
    : communicator_(communicator), thread_([this] { work(); }) {}

CollectiveQueue::~CollectiveQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  started_.notify_one();
  thread_.join();
}

Result<int> CollectiveQueue::add(void *data, size_t count, DType type,
                                 ReduceOp op) {
  return add({data, count, type, op});
}

Result<int> CollectiveQueue::addScatter(void *data, std::vector<size_t> pieces,
                                        void *own, DType type, ReduceOp op) {
  return add({data, 0, type, op, std::move(pieces), own});
}

Result<int> CollectiveQueue::addGather(void *data, std::vector<size_t> pieces,
                                       const void *own) {
  return add(
      {data, 0, DType::U8, ReduceOp::Sum, std::move(pieces), nullptr, own});
}

int CollectiveQueue::add(Reduction reduction) {
  std::lock_guard lock(mutex_);
  reductions_.push_back(std::move(reduction));
  // Allocated at bind, so that start() allocates nothing: a reduction is in the
  // ring at most once, and references of work() are never moved.
  queue_.resize(reductions_.size());
  return static_cast<int>(reductions_.size()) - 1;
}

void CollectiveQueue::describe(int ticket, int64_t bucket,
                               const std::string &nodes) {
  std::lock_guard lock(mutex_);
  if (FlightLog *log = communicator_.flightLog())
    reductions_[ticket].subject = log->addSubject(bucket, nodes);
}

Status CollectiveQueue::start(int ticket) {
  {
    std::lock_guard lock(mutex_);
    reductions_[ticket].pending = true;
    queue_[(head_ + length_++) % queue_.size()] = ticket;
  }
  started_.notify_one();
  return {};
}

template <class Done>
void CollectiveQueue::block(std::unique_lock<std::mutex> &lock,
                            const Done &done) {
  const auto since = std::chrono::steady_clock::now();
  finished_.wait(lock, done);
  blocked_ += std::chrono::steady_clock::now() - since;
}

Status CollectiveQueue::wait(int ticket) {
  std::unique_lock lock(mutex_);
  block(lock, [&] { return !reductions_[ticket].pending; });
  return error_;
}

Status CollectiveQueue::status() {
  std::lock_guard lock(mutex_);
  return error_;
}

Status CollectiveQueue::endStep() {
  std::unique_lock lock(mutex_);
  block(lock, [&] { return length_ == 0; });
  return error_;
}

// Gathers each rank's piece from its own memory.
Status CollectiveQueue::gather(const Reduction &r) {
  const auto rank = static_cast<ptrdiff_t>(communicator_.rank()) %
                    static_cast<ptrdiff_t>(r.pieces.size()); // of its group
  const size_t begin =
      std::accumulate(r.pieces.begin(), r.pieces.begin() + rank, size_t(0));
  if (const size_t bytes = r.pieces[static_cast<size_t>(rank)];
      r.source && bytes > 0)
    std::memmove(static_cast<std::byte *>(r.data) + begin, r.source, bytes);
  return communicator_.allGather(r.data, r.pieces);
}

Status CollectiveQueue::run(const Reduction &r) {
  const char *name = r.own              ? "reduce_scatter"
                     : r.pieces.empty() ? "all_reduce"
                                        : "all_gather";
  return guarded(name, [&] {
    communicator_.setSubject(r.subject);
    const Status done =
        r.own
            ? communicator_.reduceScatter(r.data, r.pieces, r.own, r.type, r.op)
        : r.pieces.empty()
            ? communicator_.allReduce(r.data, r.count, r.type, r.op)
            : gather(r);
    communicator_.setSubject(-1);
    return done;
  });
}

void CollectiveQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return stop_ || length_ > 0; });
    if (length_ == 0)
      return; // stops, as nobody waits any more
    Reduction &next = reductions_[queue_[head_]];
    // After an error the ranks no longer agree on the next collective, so
    // nothing more is sent; started collectives still end for their waits.
    if (error_.ok() && !stop_) {
      lock.unlock(); // the step continues while this blocks
      Status status = run(next);
      lock.lock();
      error_ = std::move(status);
    }
    // Only now is its place in the ring free.
    next.pending = false;
    head_ = (head_ + 1) % queue_.size();
    --length_;
    finished_.notify_all();
  }
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/reduce/CollectiveQueue.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/collective/flight/FlightLog.h"

#include <cstring>
#include <numeric>
#include <span>

namespace dlc {

CollectiveQueue::CollectiveQueue(Communicator &communicator,
                                 std::unique_ptr<Communicator> ahead)
    : ahead_(std::move(ahead)) {
  try {
    open(communicator);
    if (ahead_)
      open(*ahead_);
  } catch (...) { // no thread
    close();
    throw;
  }
}

void CollectiveQueue::open(Communicator &communicator) {
  Channel &channel = channels_.emplace_back(communicator);
  channel.thread = std::thread([this, &channel] { work(channel); });
}

CollectiveQueue::~CollectiveQueue() { close(); }

void CollectiveQueue::close() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  started_.notify_all();
  for (Channel &channel : channels_)
    if (channel.thread.joinable())
      channel.thread.join();
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
  for (Channel &channel : channels_)
    channel.queue.resize(reductions_.size());
  return static_cast<int>(reductions_.size()) - 1;
}

void CollectiveQueue::overtake(int ticket) {
  std::lock_guard lock(mutex_);
  reductions_[ticket].ahead = true;
}

void CollectiveQueue::describe(int ticket, int64_t bucket,
                               const std::string &nodes) {
  std::lock_guard lock(mutex_);
  if (FlightLog *log = channels_.front().communicator.flightLog())
    reductions_[ticket].subject = log->addSubject(bucket, nodes);
}

Status CollectiveQueue::start(int ticket) {
  {
    std::lock_guard lock(mutex_);
    Reduction &reduction = reductions_[ticket];
    Channel &channel = channelOf(reduction);
    reduction.pending = true;
    channel.queue[(channel.head + channel.length++) % channel.queue.size()] =
        ticket;
  }
  started_.notify_all();
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
  block(lock, [&] {
    return channels_.front().length + channels_.back().length == 0;
  });
  return error_;
}

// Gathers each rank's piece from its own memory.
static Status gather(Communicator &communicator, void *data,
                     std::span<const size_t> pieces, const void *own) {
  const size_t rank =
      static_cast<size_t>(communicator.rank()) % pieces.size(); // of its group
  const auto before = pieces.first(rank);
  if (own && pieces[rank] > 0)
    std::memmove(static_cast<std::byte *>(data) +
                     std::accumulate(before.begin(), before.end(), size_t(0)),
                 own, pieces[rank]);
  return communicator.allGather(data, pieces);
}

Status CollectiveQueue::run(Communicator &communicator, const Reduction &r) {
  const char *name = r.own              ? "reduce_scatter"
                     : r.pieces.empty() ? "all_reduce"
                                        : "all_gather";
  return guarded(name, [&] {
    communicator.setSubject(r.subject);
    const Status done =
        r.own
            ? communicator.reduceScatter(r.data, r.pieces, r.own, r.type, r.op)
        : r.pieces.empty()
            ? communicator.allReduce(r.data, r.count, r.type, r.op)
            : gather(communicator, r.data, r.pieces, r.source);
    communicator.setSubject(-1);
    return done;
  });
}

void CollectiveQueue::work(Channel &channel) {
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return stop_ || channel.length > 0; });
    if (channel.length == 0)
      return; // stops, as nobody waits any more
    Reduction &next = reductions_[channel.queue[channel.head]];
    // After an error the ranks no longer agree on the next collective, so
    // nothing more is sent; started collectives still end for their waits.
    if (error_.ok() && !stop_) {
      lock.unlock(); // the step continues while this blocks
      Status status = run(channel.communicator, next);
      lock.lock();
      if (error_.ok())
        error_ = std::move(status);
    }
    // Only now is its place in the ring free.
    next.pending = false;
    channel.head = (channel.head + 1) % channel.queue.size();
    --channel.length;
    finished_.notify_all();
  }
}

} // namespace dlc

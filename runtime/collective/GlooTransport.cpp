// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/GlooTransport.h"

#include "runtime/base/process/RunningClock.h"

#include <gloo/common/error.h>

#include <algorithm>
#include <string>
#include <utility>

namespace dlc {

namespace transport = gloo::transport;
using std::chrono::milliseconds;

// Timeout passed to Gloo, so that only this transport's deadlines end waits.
constexpr milliseconds kForever = std::chrono::hours(24 * 365);

class GlooTransport::Context final
    : public transport::Context,
      public std::enable_shared_from_this<Context> {
public:
  Context(std::shared_ptr<GlooTransport> owner, int rank, int size)
      : transport::Context(rank, size), owner_(std::move(owner)),
        inner_(owner_->device_->createContext(rank, size)) {
    std::lock_guard lock(owner_->mutex_);
    owner_->contexts_.insert(this);
  }
  ~Context() override {
    std::lock_guard lock(owner_->mutex_);
    owner_->contexts_.erase(this);
  }

  std::unique_ptr<transport::Pair> &getPair(int peer) override {
    return inner_->getPair(peer);
  }
  std::unique_ptr<transport::Pair> &createPair(int peer) override {
    std::lock_guard lock(owner_->mutex_);
    inner_->setTimeout(getTimeout() / 5); // Gloo waits for 5 timeouts
    return inner_->createPair(peer);
  }
  std::unique_ptr<transport::UnboundBuffer>
  createUnboundBuffer(void *data, size_t bytes) override;

  // Call with the owner's mutex held.
  void fail();

  const std::shared_ptr<GlooTransport> owner_;
  const std::shared_ptr<transport::Context> inner_;
  std::set<Buffer *> buffers_; // guarded by the owner's mutex
};

// A buffer to send from or receive into.
class GlooTransport::Buffer final : public transport::UnboundBuffer {
public:
  Buffer(std::shared_ptr<GlooTransport::Context> context, void *data,
         size_t bytes)
      : UnboundBuffer(data, bytes), context_(std::move(context)),
        owner_(*context_->owner_),
        inner_(context_->inner_->createUnboundBuffer(data, bytes)) {
    std::lock_guard lock(owner_.mutex_);
    context_->buffers_.insert(this);
  }
  ~Buffer() override {
    std::lock_guard lock(owner_.mutex_);
    context_->buffers_.erase(this);
  }

  bool waitRecv(int *rank, milliseconds timeout) override {
    return wait(from_, timeout,
                [&] { return inner_->waitRecv(rank, kForever); });
  }
  bool waitSend(int *rank, milliseconds timeout) override {
    return wait(to_, timeout, [&] { return inner_->waitSend(rank, kForever); });
  }
  // Call with the owner's mutex held. Ends a wait whose deadline has passed;
  // else returns the deadline, if any.
  std::optional<RunningClock::time_point> due(RunningClock::time_point now) {
    if (!due_ || *due_ > now)
      return due_;
    due_.reset();
    late_ = true;
    abortWaitRecv();
    abortWaitSend();
    return std::nullopt;
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }

  void send(int peer, uint64_t slot, size_t offset, size_t bytes) override {
    note(to_, peer);
    inner_->send(peer, slot, offset, bytes);
  }
  void recv(int peer, uint64_t slot, size_t offset, size_t bytes) override {
    note(from_, peer);
    inner_->recv(peer, slot, offset, bytes);
  }
  void recv(std::vector<int> peers, uint64_t slot, size_t offset,
            size_t bytes) override {
    for (const int peer : peers)
      note(from_, peer);
    inner_->recv(std::move(peers), slot, offset, bytes);
  }

private:
  // The rank that it was sent to or is received from, if it is only one.
  static constexpr int kNone = -1, kSeveral = -2;
  static void note(int &known, int peer) {
    known = known == kNone || known == peer ? peer : kSeveral;
  }

  template <class Wait>
  bool wait(int peer, milliseconds timeout, Wait &&begin) {
    if (timeout == transport::kUnsetTimeout)
      timeout = context_->getTimeout();
    setDue(RunningClock::now() + timeout);
    try {
      while (!begin()) { // or a late abort of an earlier wait
        owner_.throwIfLost();
        throwIfLate(timeout);
      }
      setDue(std::nullopt);
      return true;
    } catch (const gloo::IoException &) {
      std::lock_guard lock(owner_.mutex_);
      due_.reset();
      owner_.waitedFor_ = peer < 0 ? std::nullopt : std::optional(peer);
      throw;
    }
  }

  void setDue(std::optional<RunningClock::time_point> due) {
    std::lock_guard lock(owner_.mutex_);
    due_ = due;
    late_ = false;
  }

  // Closing the connections notifies the peers.
  void throwIfLate(milliseconds timeout) {
    std::lock_guard lock(owner_.mutex_);
    if (!late_)
      return;
    context_->fail();
    throw gloo::IoException("timed out after " +
                            std::to_string(timeout.count()) + " ms");
  }

  std::optional<RunningClock::time_point> due_; // guarded by the owner's mutex
  bool late_ = false;                           // guarded by it, too
  int from_ = kNone, to_ = kNone;
  const std::shared_ptr<GlooTransport::Context> context_;
  GlooTransport &owner_;
  const std::unique_ptr<transport::UnboundBuffer> inner_;
};

std::unique_ptr<transport::UnboundBuffer>
GlooTransport::Context::createUnboundBuffer(void *data, size_t bytes) {
  inner_->setTimeout(getTimeout());
  auto buffer = std::make_unique<Buffer>(shared_from_this(), data, bytes);
  owner_->throwIfLost();
  return buffer;
}

// Ends all waits, and closes the connections.
void GlooTransport::Context::fail() {
  for (Buffer *buffer : buffers_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
  for (int peer = 0; peer < size; ++peer)
    if (const auto &pair = inner_->getPair(peer))
      pair->close();
}

std::shared_ptr<transport::Context> GlooTransport::createContext(int rank,
                                                                 int size) {
  return std::make_shared<Context>(shared_from_this(), rank, size);
}

void GlooTransport::lose(int rank) {
  int none = kNobody;
  lost_.compare_exchange_strong(none, rank);
  stopped_.notify_one(); // if it comes between check and wait: a slice later
}

std::optional<int> GlooTransport::waitedFor() const {
  std::lock_guard lock(mutex_);
  return waitedFor_;
}

GlooTransport::~GlooTransport() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void GlooTransport::endLateWaits() {
  std::unique_lock lock(mutex_);
  for (bool failed = false; !stop_;) {
    if (lost_ != kNobody && !std::exchange(failed, true))
      for (Context *context : contexts_)
        context->fail();
    const RunningClock::time_point now = RunningClock::now();
    auto next = now + RunningClock::kSlice;
    for (Context *context : contexts_)
      for (Buffer *buffer : context->buffers_)
        next = std::min(next, buffer->due(now).value_or(next));
    stopped_.wait_for(lock, RunningClock::sliceUntil(next));
  }
}

void GlooTransport::throwIfLost() const {
  if (const int lost = lost_; lost != kNobody)
    throw gloo::IoException("rank " + std::to_string(lost) + " is lost");
}

} // namespace dlc

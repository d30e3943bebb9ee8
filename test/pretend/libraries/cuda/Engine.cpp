// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cuda/Engine.h"
#include "test/pretend/libraries/cuda/Contexts.h"
#include "test/pretend/libraries/cuda/Memory.h"
#include "test/pretend/libraries/cuda/State.h"
#include "test/pretend/libraries/cuda/Trace.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <random>
#include <thread>
#include <utility>

namespace dlc::standin {
namespace {

// A range of a block that some work touched.
struct Past {
  const std::byte *begin, *end;
  bool writes;
  int stream;
  uint64_t index;
  std::string name;
};

struct Engine {
  std::set<const Stream *> streams;
  std::set<const Event *> events;
  std::list<std::shared_ptr<Op>> pending;
  std::map<Block *, std::vector<Past>> past;
  std::set<int> workers; // devices that have a thread
  std::condition_variable_any changed;
  std::mt19937 random{unsigned(environment("DLC_STANDIN_SEED", 1))};
  int numbers = 0;
};

Engine &engine() {
  static auto *engine = new Engine;
  return *engine;
}

thread_local Clock seen; // what this host thread has waited for

bool isReady(const Op &op) {
  return op.wanted && !op.running &&
         std::all_of(op.before.begin(), op.before.end(),
                     [](const auto &before) { return before->done; });
}

// Plays the GPU `number` for the rest of the process.
void work(int number) {
  std::unique_lock lock(world());
  for (;;) {
    std::vector<std::shared_ptr<Op>> ready;
    for (const auto &op : engine().pending)
      if (op->device == number && isReady(*op))
        ready.push_back(op);
    if (ready.empty()) {
      engine().changed.wait(lock);
      continue;
    }
    const auto op = ready[choose(ready.size())];
    op->running = true;
    for (const auto &before : op->before)
      op->begin = std::max(op->begin, before->end);
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    CUresult result = injectedInto(op->name);
    if (result == CUDA_SUCCESS)
      result = op->run();
    lock.lock();
    if (result != CUDA_SUCCESS)
      setSticky(result);
    op->done = true;
    op->end = op->begin + (std::chrono::steady_clock::now() - start);
    op->run = nullptr;
    op->before.clear();
    engine().pending.remove(op);
    engine().changed.notify_all();
  }
}

void want(const std::shared_ptr<Op> &op) {
  std::vector<Op *> stack = {op.get()};
  while (!stack.empty()) {
    Op *next = stack.back();
    stack.pop_back();
    if (std::exchange(next->wanted, true))
      continue;
    for (const auto &before : next->before)
      stack.push_back(before.get());
  }
  engine().changed.notify_all();
}

void waitFor(const std::shared_ptr<Op> &op,
             std::unique_lock<std::recursive_mutex> &lock) {
  if (!op)
    return;
  want(op);
  engine().changed.wait(lock, [&] { return op->done; });
  seen.merge(op->clock);
}

void checkRaces(const Op &op, const Stream &stream,
                const std::vector<Access> &accesses) {
  for (const Access &access : accesses) {
    const auto *begin = static_cast<const std::byte *>(access.data);
    const auto *end = begin + access.bytes;
    std::vector<Past> &all = engine().past[blockOf(access.data)];
    std::vector<Past> kept;
    for (Past &past : all) {
      const auto known = op.clock.find(past.stream);
      const bool ordered =
          past.stream == stream.number ||
          (known != op.clock.end() && known->second >= past.index);
      const bool overlaps = past.begin < end && begin < past.end;
      if (overlaps && !ordered && (past.writes || access.writes))
        violation(
            CUDA_SUCCESS,
            fmt::format("race: {} and {} touch {} and nothing orders them",
                        past.name, op.name, placeOf(access.data)));
      const bool covered = begin <= past.begin && past.end <= end;
      if (!(covered && ordered && (access.writes || !past.writes)))
        kept.push_back(std::move(past));
    }
    kept.push_back(
        {begin, end, access.writes, stream.number, stream.length, op.name});
    all = std::move(kept);
  }
}

} // namespace

bool isLive(const Stream *stream) { return engine().streams.count(stream); }
bool isLive(const Event *event) { return engine().events.count(event); }

size_t choose(size_t count) {
  std::lock_guard lock(world());
  return engine().random() % count;
}

namespace {
struct Order {
  Clock seen;
  CUcontext context;
  int captures;
};
} // namespace

void *shareOrder() {
  std::lock_guard lock(world());
  return new Order{seen, currentContext(), captures()};
}

void adoptOrder(void *order) {
  const std::unique_ptr<Order> shared(static_cast<Order *>(order));
  std::lock_guard lock(world());
  seen.merge(shared->seen);
  (void)setCurrent(shared->context);
  captures() = shared->captures;
}

Stream *createStream() {
  auto *stream = new Stream;
  const int device = currentDevice();
  stream->number = ++engine().numbers;
  stream->device = device;
  engine().streams.insert(stream);
  if (engine().workers.insert(device).second)
    std::thread(work, device).detach();
  return stream;
}

void forgetStreams(int device) {
  std::erase_if(engine().streams,
                [&](const Stream *s) { return s->device == device; });
  std::erase_if(engine().events,
                [&](const Event *e) { return e->device == device; });
}

bool isCaptured(CUstream stream) {
  std::lock_guard lock(world());
  const auto *known = reinterpret_cast<const Stream *>(stream);
  return isLive(known) && known->capture;
}

CUresult destroyStream(Stream *stream) {
  if (!isLive(stream))
    return violation(CUDA_ERROR_INVALID_HANDLE, "destroyed stream is not live");
  if (stream->last)
    want(stream->last);
  engine().streams.erase(stream);
  return CUDA_SUCCESS; // kept: events may know it
}

CUresult enqueue(Stream *stream, const std::string &name, Run run,
                 std::vector<Access> accesses) {
  if (!isLive(stream))
    return violation(CUDA_ERROR_INVALID_HANDLE, name + ": no such stream");
  if (stream->capture) {
    Nodes &nodes = stream->capture->nodes;
    nodes.push_back({name, std::move(run), stream->tips, std::move(accesses)});
    stream->tips = {nodes.size() - 1};
    return CUDA_SUCCESS;
  }
  auto op = std::make_shared<Op>();
  op->name = name;
  op->run = std::move(run);
  op->device = stream->device;
  op->before = std::exchange(stream->awaited, {});
  if (stream->last)
    op->before.push_back(stream->last);
  op->clock = seen;
  op->begin = std::chrono::steady_clock::now();
  for (const auto &before : op->before) {
    op->clock.merge(before->clock);
    if (before->done)
      op->begin = std::max(op->begin, before->end);
  }
  op->clock[stream->number] = ++stream->length;
  checkRaces(*op, *stream, accesses);
  std::erase_if(op->before, [](const auto &before) { return before->done; });
  stream->last = op;
  engine().pending.push_back(op);
  return CUDA_SUCCESS;
}

CUresult enqueueWork(CUstream stream, const Work &work) {
  Call call("library", "{} {}", work.name,
            nameOf('s', reinterpret_cast<Stream *>(stream)));
  std::shared_ptr<void> data(work.data, [release = work.release](void *data) {
    if (release)
      release(data);
  });
  if (call.error() != CUDA_SUCCESS)
    return call.error();
  if (const CUresult bad = checkContext(work.name); bad != CUDA_SUCCESS)
    return bad;
  std::vector<Access> accesses(work.accesses, work.accesses + work.accessCount);
  for (const Access &access : accesses)
    if (const CUresult bad = checkDevice(work.name, access.data, access.bytes);
        bad != CUDA_SUCCESS)
      return bad;
  return enqueue(
      reinterpret_cast<Stream *>(stream), work.name,
      [data, run = work.run] {
        return recordOnly() ? CUDA_SUCCESS : run(data.get());
      },
      std::move(accesses));
}

void wantAll() {
  std::lock_guard lock(world());
  for (const auto &op : engine().pending)
    want(op);
}

CUresult synchronize(Stream *stream,
                     std::unique_lock<std::recursive_mutex> &lock) {
  if (!isLive(stream))
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such stream");
  if (stream->capture)
    return violation(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                     "the host waits for a stream that is captured");
  waitFor(stream->last, lock);
  for (const auto &op : stream->awaited)
    waitFor(op, lock);
  return CUDA_SUCCESS;
}

// --- events ---

Event *createEvent(bool isTimed) {
  auto *event = new Event{isTimed, currentDevice(), nullptr, nullptr, {}};
  engine().events.insert(event);
  return event;
}

CUresult destroyEvent(Event *event) {
  if (!engine().events.erase(event))
    return violation(CUDA_ERROR_INVALID_HANDLE, "destroyed event is not live");
  delete event;
  return CUDA_SUCCESS;
}

CUresult recordEvent(Event *event, Stream *stream) {
  if (!isLive(event) || !isLive(stream))
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such event or stream");
  event->capture = stream->capture;
  event->tips = stream->tips;
  if (stream->capture)
    return CUDA_SUCCESS;
  // A point of its own, so that it also stands for what the stream awaits.
  const CUresult result =
      enqueue(stream, "event", [] { return CUDA_SUCCESS; }, {});
  event->op = stream->last;
  return result;
}

CUresult waitEvent(Stream *stream, Event *event) {
  if (!isLive(event) || !isLive(stream))
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such event or stream");
  if (!event->capture) {
    if (stream->capture && event->op)
      return violation(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                       "captured work waits for an event from before");
    if (event->op)
      stream->awaited.push_back(event->op);
    return CUDA_SUCCESS;
  }
  if (!event->capture->open)
    return violation(CUDA_ERROR_CAPTURED_EVENT,
                     "a stream waits for an event of a capture that ended");
  if (stream->capture && stream->capture != event->capture)
    return violation(CUDA_ERROR_STREAM_CAPTURE_MERGE,
                     "an event would join two captures");
  stream->capture = event->capture;
  stream->capture->streams.insert(stream);
  stream->tips.insert(stream->tips.end(), event->tips.begin(),
                      event->tips.end());
  return CUDA_SUCCESS;
}

static CUresult checkEvent(Event *event) {
  if (!isLive(event))
    return violation(CUDA_ERROR_INVALID_HANDLE, "no such event");
  return event->capture
             ? violation(CUDA_ERROR_CAPTURED_EVENT,
                         "the host asks for an event that was captured")
             : CUDA_SUCCESS;
}

CUresult queryEvent(Event *event) {
  if (const CUresult bad = checkEvent(event); bad != CUDA_SUCCESS)
    return bad;
  if (!event->op)
    return CUDA_SUCCESS;
  want(event->op);
  if (!event->op->done)
    return CUDA_ERROR_NOT_READY;
  seen.merge(event->op->clock);
  return CUDA_SUCCESS;
}

CUresult elapsed(float *milliseconds, Event *start, Event *end) {
  for (Event *event : {start, end}) {
    if (const CUresult bad = checkEvent(event); bad != CUDA_SUCCESS)
      return bad;
    if (!event->isTimed || !event->op)
      return violation(CUDA_ERROR_INVALID_HANDLE,
                       "time asked of an event that has none");
    if (!event->op->done)
      return CUDA_ERROR_NOT_READY;
  }
  const std::chrono::duration<float, std::milli> taken =
      end->op->end - start->op->end;
  *milliseconds = taken.count();
  return CUDA_SUCCESS;
}

CUresult synchronizeEvent(Event *event,
                          std::unique_lock<std::recursive_mutex> &lock) {
  if (const CUresult bad = checkEvent(event); bad != CUDA_SUCCESS)
    return bad;
  const auto op = event->op; // the event may be recorded again meanwhile
  waitFor(op, lock);
  return CUDA_SUCCESS;
}

} // namespace dlc::standin

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Tuner.h"

#include "runtime/base/process/Log.h"
#include "runtime/device/cuda/driver/Graph.h"

#include <algorithm>
#include <limits>

namespace dlc {

constexpr int kRuns = 16; // the fastest is used
constexpr double kTie = 1.02, kNever = std::numeric_limits<double>::infinity();

// Device memory while it is in scope.
class Draft {
public:
  // Nullopt if the GPU has too little memory.
  static Result<Draft> create(const GpuContext &context, uint64_t bytes) {
    CUdeviceptr data = 0;
    const Status status = context.check(
        context.driver().cuMemAlloc(&data, std::max<uint64_t>(bytes, 1)),
        "memory to measure in");
    if (status.code() == Code::Limit)
      return Draft(context, 0, 0);
    DLC_TRY(status);
    return Draft(context, data, bytes);
  }
  Draft(Draft &&other) noexcept
      : context_(other.context_), data_(std::exchange(other.data_, 0)),
        bytes_(other.bytes_) {}
  Draft &operator=(Draft &&) = delete;
  ~Draft() {
    if (data_)
      context_.driver().cuMemFree(data_);
  }
  CUdeviceptr data() const { return data_; } // 0: no memory
  uint64_t bytes() const { return bytes_; }

private:
  Draft(const GpuContext &context, CUdeviceptr data, uint64_t bytes)
      : context_(context), data_(data), bytes_(bytes) {}
  const GpuContext &context_;
  CUdeviceptr data_;
  uint64_t bytes_;
};

Tuner::Tuner(const GpuContext &context, TuneOptions options)
    : context_(context), options_(std::move(options)) {
  if (!usesCache())
    return;
  auto cache = TuneCache::open(cacheFolder(options_.cacheFolder));
  if (cache.ok())
    cache_.emplace(*std::move(cache));
  else
    warning("{}: it is not used", cache.status().message());
}

TuneKey Tuner::key() const {
  const GpuProperties &gpu = context_.properties();
  TuneKey key;
  key.add("gpu", gpu.name)
      .add("sm", gpu.sm)
      .add("multiprocessors", gpu.multiprocessors)
      .add("memory", gpu.memory)
      .add("l2", gpu.l2)
      .add("driver", context_.driver().version())
      .add("timed", fmt::format("recorded, cold cache of {}", options_.flush))
      .add("tf32", options_.tf32)
      .add("workspace_limit", options_.workspace);
  return key;
}

void Tuner::remember(const TuneKey &key, std::optional<TuneEntry> entry,
                     std::string_view command) const {
  if (options_.choices)
    options_.choices->add(key, std::move(entry), command);
}

std::optional<TuneEntry> Tuner::find(const TuneKey &key,
                                     std::string_view command) const {
  if (!usesCache())
    return std::nullopt;
  if (options_.choices)
    if (const auto *choice = options_.choices->find(key)) {
      options_.choices->addCommand(key, command);
      return *choice;
    }
  auto entry = cache_ ? cache_->find(key) : std::nullopt;
  remember(key, entry, command);
  return entry;
}

// Records a candidate as one launch: in a recorded step the host time of its
// start is irrelevant, so it must be here.
static Result<std::unique_ptr<Command>> recorded(const GpuContext &context,
                                                 const Candidate &candidate,
                                                 CUdeviceptr draft) {
  DLC_TRY(beginGraph(context));
  const Status enqueued = candidate.enqueue(draft);
  auto graph = endGraph(context); // after an error, too
  DLC_TRY(enqueued);
  return graph;
}

// Flushing also gives the host time to enqueue the launch before the GPU gets
// there, so that no gap is timed.
Result<double> Tuner::milliseconds(Command &launch, const Draft &flush) const {
  DLC_ASSIGN(const GpuEvent start, GpuEvent::create(context_, true));
  DLC_ASSIGN(const GpuEvent end, GpuEvent::create(context_, true));
  double best = kNever;
  for (int run = 0; run <= kRuns; ++run) {
    if (flush.data())
      DLC_TRY(context_.check(
          context_.driver().cuMemsetD8Async(flush.data(), 0, flush.bytes(),
                                            context_.compute()),
          "memset to empty the cache"));
    DLC_TRY(start.record(context_.compute()));
    DLC_TRY(launch.enqueue());
    DLC_TRY(end.record(context_.compute()));
    DLC_TRY(end.wait().withContext("an algorithm that was measured failed"));
    DLC_ASSIGN(const double taken, end.millisecondsSince(start));
    if (run > 0) // the first run loads code
      best = std::min(best, taken);
  }
  return best;
}

Result<size_t> Tuner::measure(const TuneKey &key, std::string_view command,
                              uint64_t draftBytes,
                              std::span<Candidate> candidates) const {
  DLC_ASSIGN(const Draft draft, Draft::create(context_, draftBytes));
  if (!draft.data()) {
    info("{}: the GPU has not enough memory to measure its algorithms: the "
         "library's first choice is taken",
         command);
    return 0;
  }
  DLC_ASSIGN(const Draft flush,
             Draft::create(context_, uint64_t(options_.flush) *
                                         context_.properties().l2));
  if (!flush.data())
    info("{}: the GPU has not enough memory to empty its cache between runs: "
         "its algorithms are measured with a warm one, for this run only",
         command);
  double least = kNever;
  for (Candidate &candidate : candidates) {
    candidate.entry.milliseconds = kNever;
    if (!candidate.enqueue(draft.data()).ok()) // loads code
      continue;
    auto launch = recorded(context_, candidate, draft.data());
    if (!launch.ok()) // a step could not record it, either
      continue;
    DLC_ASSIGN(candidate.entry.milliseconds, milliseconds(**launch, flush));
    least = std::min(least, candidate.entry.milliseconds);
  }
  size_t chosen = 0; // if none starts, the first: its error is the run's
  while (candidates[chosen].entry.milliseconds > least * kTie)
    ++chosen;
  TuneEntry &entry = candidates[chosen].entry;
  entry.date = tuneDate();
  if (least == kNever)
    return chosen;
  remember(key, entry, command);
  if (options_.choices) {
    std::vector<TuneEntry> measured;
    for (const Candidate &candidate : candidates)
      measured.push_back(candidate.entry);
    options_.choices->addMeasured(key, std::move(measured));
  }
  if (cache_ && flush.data())
    if (const Status stored = cache_->store(key, entry); !stored.ok())
      warning("{}", stored.message());
  return chosen;
}

} // namespace dlc

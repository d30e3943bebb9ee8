#include "runtime/device/cuda/Tuner.h"

#include "runtime/base/Log.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace dlc {
namespace {

constexpr int kRounds = 3, kRuns = 8; // the best round counts
constexpr double kTie = 1.02;

using Clock = std::chrono::steady_clock;

} // namespace

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
      .add("driver", context_.driver().version())
      .add("tf32", options_.tf32)
      .add("workspace_limit", options_.workspace);
  return key;
}

void Tuner::remember(const TuneKey &key, std::optional<TuneEntry> entry) const {
  if (options_.choices)
    options_.choices->add(key, std::move(entry));
}

std::optional<TuneEntry> Tuner::find(const TuneKey &key) const {
  if (!usesCache())
    return std::nullopt;
  if (options_.choices)
    if (const auto *choice = options_.choices->find(key))
      return *choice;
  auto entry = cache_ ? cache_->find(key) : std::nullopt;
  remember(key, entry);
  return entry;
}

Result<double> Tuner::milliseconds(const Candidate &candidate) const {
  const auto wait = [this] {
    return context_.check(
        context_.driver().cuStreamSynchronize(context_.compute()),
        "an algorithm that was measured failed");
  };
  DLC_TRY(candidate.enqueue()); // what is loaded at the first run
  DLC_TRY(wait());
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point start = Clock::now();
    for (int run = 0; run < kRuns; ++run)
      DLC_TRY(candidate.enqueue());
    DLC_TRY(wait());
    const std::chrono::duration<double, std::milli> taken =
        Clock::now() - start;
    best = std::min(best, taken.count() / kRuns);
  }
  return best;
}

Result<size_t> Tuner::measure(const TuneKey &key,
                              std::span<Candidate> candidates) const {
  double least = std::numeric_limits<double>::infinity();
  for (Candidate &candidate : candidates) {
    candidate.entry.milliseconds = std::numeric_limits<double>::infinity();
    if (!candidate.enqueue().ok())
      continue;
    DLC_ASSIGN(candidate.entry.milliseconds, milliseconds(candidate));
    least = std::min(least, candidate.entry.milliseconds);
  }
  size_t chosen = 0; // of none that starts, the first: its error is the run's
  while (candidates[chosen].entry.milliseconds > least * kTie)
    ++chosen;
  TuneEntry &entry = candidates[chosen].entry;
  entry.date = tuneDate();
  if (least == std::numeric_limits<double>::infinity())
    return chosen;
  remember(key, entry);
  if (cache_)
    if (const Status stored = cache_->store(key, entry); !stored.ok())
      warning("{}", stored.message());
  return chosen;
}

Result<Draft> Draft::create(const GpuContext &context, uint64_t bytes) {
  CUdeviceptr data = 0;
  DLC_TRY(context.check(context.driver().cuMemAlloc(&data, bytes),
                        fmt::format("{} bytes to measure in", bytes)));
  return Draft(context, data);
}

Draft::~Draft() {
  if (data_)
    context_->driver().cuMemFree(data_);
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Loader.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/Mix.h"

#include <atomic>

namespace dlc {
namespace {

constexpr int64_t kRing = 3; // one in use, two ahead

// For a stream all batches of an update are buffered before it begins.
int64_t ringOf(const Sampling &sampling, bool isStream) {
  return isStream ? std::max(kRing, sampling.window + 2) : kRing;
}

Status fillRow(const Dataset &dataset, int64_t row, const TrainingPass *pass,
               size_t at, Batch &batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const Column &column = dataset.columns()[i];
    if (!column.spec().isShared)
      DLC_TRY(column.copySample(row, pass,
                                batch[i].data() + at * column.sampleBytes()));
  }
  return {};
}

// Threads take the next row each. If several fail, the first row's error is
// returned, independent of timing.
Status fillRows(const Dataset &dataset, std::span<const int64_t> rows,
                const TrainingPass *pass, Batch &batch) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t failedAt = rows.size();
  Status error;
  const auto threads = std::clamp<size_t>(size_t(dataset.workers()), 1,
                                          std::max<size_t>(rows.size(), 1));
  runTogether(threads, [&] {
    for (size_t at; (at = next++) < rows.size();) {
      const Status status = fillRow(dataset, rows[at], pass, at, batch);
      if (status.ok())
        continue;
      next = rows.size();
      std::lock_guard lock(mutex);
      if (at < failedAt) {
        failedAt = at;
        error = status;
      }
    }
  });
  return error;
}

} // namespace

Status fillBatch(const Dataset &dataset, std::span<const int64_t> rows,
                 const TrainingPass *pass, Batch &batch) {
  for (size_t i = 0; i < batch.size(); ++i)
    if (const Column &column = dataset.columns()[i]; column.spec().isShared)
      DLC_TRY(column.copySample(0, pass, batch[i].data()));
  return fillRows(dataset, rows, pass, batch);
}

void resizeBatch(const Dataset &dataset, int64_t rows, Batch &batch) {
  batch.resize(dataset.columns().size());
  for (size_t i = 0; i < batch.size(); ++i) {
    const Column &column = dataset.columns()[i];
    batch[i].resize(column.sampleBytes() *
                    (column.spec().isShared ? 1 : uint64_t(rows)));
  }
}

Batch makeBatch(const Dataset &dataset, int64_t rows) {
  Batch batch;
  resizeBatch(dataset, rows, batch);
  return batch;
}

std::vector<int64_t> countsOf(std::span<const Dataset> sets) {
  std::vector<int64_t> counts;
  for (const Dataset &set : sets)
    counts.push_back(set.samples());
  return counts;
}

Loader::Loader(std::span<const Dataset> sets, const Sampling &sampling,
               int64_t first, int64_t last)
    : sets_(sets), sampling_(sampling), next_(first * sampling.window),
      last_(last * sampling.window), made_(next_),
      ring_(size_t(ringOf(sampling, sets[0].source().isStream()))),
      order_(sampling, countsOf(sets)), rows_(size_t(sampling.batch)) {
  for (const Dataset &set : sets)
    for (Made &made : ring_) // capacity for the largest
      resizeBatch(set, sampling.batch, made.batch);
  if ((stream_ = sets[0].source().stream()))
    records_.resize(size_t(sampling.batch) * stream_->header().recordBytes);
  thread_ = std::thread([this] { work(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  if (stream_)
    stream_->stop();
  changed_.notify_all();
  thread_.join();
}

// Blocks until the batch is made; false if it never will be.
bool Loader::waitFor(int64_t batch) {
  std::unique_lock lock(mutex_);
  const auto since = std::chrono::steady_clock::now();
  changed_.wait(lock, [&] { return made_ > batch || !error_.ok(); });
  waited_ += std::chrono::steady_clock::now() - since;
  return made_ > batch;
}

Result<const Loader::Made *> Loader::next() {
  if (next_ >= last_)
    return nullptr;
  if (!waitFor(next_))
    return error_;
  std::lock_guard lock(mutex_);
  const Made *made = &ring_[size_t(next_++) % ring_.size()];
  changed_.notify_all();
  return made;
}

Status Loader::ready() {
  const int64_t end = std::min(next_ + (stream_ ? sampling_.window : 1), last_);
  return next_ >= end || waitFor(end - 1) ? Status() : error_;
}

void Loader::work() {
  const Status status =
      guarded("the next batch", [this] { return makeBatches(); });
  std::lock_guard lock(mutex_);
  error_ = status;
  changed_.notify_all();
}

Status Loader::makeBatches() {
  for (int64_t number = made_; number < last_; ++number) {
    {
      // The batch before next_ is in use by the caller.
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        return stop_ || number - next_ + 1 < int64_t(ring_.size());
      });
      if (stop_)
        return {};
    }
    const auto since = std::chrono::steady_clock::now();
    DLC_TRY(makeBatchOf(number, ring_[size_t(number) % ring_.size()]));
    std::lock_guard lock(mutex_);
    making_ += std::chrono::steady_clock::now() - since;
    made_ = number + 1;
    changed_.notify_all();
  }
  return {};
}

Status Loader::makeBatchOf(int64_t number, Made &made) {
  if (stream_)
    return readBatch(number, made);
  SampleOrder::Update update = order_.at(number / sampling_.window);
  const Dataset &dataset = sets_[update.set];
  const auto first =
      size_t((number % sampling_.window * sampling_.world + sampling_.rank) *
             sampling_.batch);
  const TrainingPass pass{sampling_.seed, update.begin.epoch};
  resizeBatch(dataset, sampling_.batch, made.batch);
  for (size_t i = 0; i < rows_.size(); ++i)
    rows_[i] = update.rows[std::min(first + i, update.rows.size() - 1)];
  DLC_TRY(fillBatch(dataset, rows_, &pass, made.batch));
  if (dataset.options().mixes())
    DLC_TRY(mix(dataset, update, first, pass, made.batch));
  weigh(dataset, update, first, made.batch);
  made.set = update.set;
  made.end = std::move(update.end);
  return {};
}

// Reads the next samples of the stream, which restarts in each epoch.
Status Loader::readBatch(int64_t number, Made &made) {
  const int64_t samples = sets_[0].samples();
  const int64_t done = number / sampling_.window;
  const Cursor update = sampling_.cursorAfter(done, samples);
  if (update.epoch != epoch_)
    DLC_TRY(stream_->start({update.epoch, update.sample}));
  epoch_ = update.epoch;
  DLC_TRY(stream_->read(sampling_.batch, records_.data()));
  const StreamHeader &header = stream_->header();
  const TrainingPass pass{sampling_.seed, update.epoch};
  const int64_t first =
      update.sample +
      (number % sampling_.window * sampling_.world + sampling_.rank) *
          sampling_.batch;
  for (size_t c = 0; c < made.batch.size(); ++c) {
    const Column &column = sets_[0].columns()[c];
    const std::byte *from =
        records_.data() + header.find(column.spec().key)->offset;
    std::byte *to = made.batch[c].data();
    for (int64_t i = 0; i < sampling_.batch; ++i) {
      DLC_TRY(column.convertSample(from, first + i, &pass, to));
      from += header.recordBytes;
      to += column.sampleBytes();
    }
  }
  made.set = 0;
  made.end = sampling_.cursorAfter(done + 1, samples);
  return {};
}

// Sets weights of the update's existing samples; `first` is the batch's first.
void Loader::weigh(const Dataset &dataset, const SampleOrder::Update &update,
                   size_t first, Batch &batch) const {
  const size_t present = update.rows.size();
  const auto weight =
      float(double(sampling_.samplesOfUpdate()) / double(present));
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!dataset.columns()[i].spec().isWeight)
      continue;
    auto *weights = reinterpret_cast<float *>(batch[i].data());
    for (size_t at = 0; at < rows_.size(); ++at)
      weights[at] = first + at < present ? weight : 0.0F;
  }
}

// Mixes a batch of the update's samples from `first` on.
Status Loader::mix(const Dataset &dataset, const SampleOrder::Update &update,
                   size_t first, const TrainingPass &pass, Batch &batch) {
  const size_t there = update.rows.size();
  const size_t before = (first == 0 ? there : std::min(first, there)) - 1;
  resizeBatch(dataset, 1, before_);
  DLC_TRY(fillBatch(dataset, update.rows.subspan(before, 1), &pass, before_));
  const MixDraw draw = drawMix(dataset, pass, update.begin.sample);
  for (auto at = size_t(sampling_.batch) - 1; at > 0; --at)
    mixSample(dataset, draw, batch, at - 1, batch, at);
  mixSample(dataset, draw, before_, 0, batch, 0);
  return {};
}

} // namespace dlc

#include "runtime/data/Loader.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/Mix.h"

#include <atomic>
#include <chrono>
#include <numeric>

namespace dlc {
namespace {

constexpr int64_t kRing = 3; // one in use, two ahead

// SplitMix64 (Steele, Lea, Flood 2014): a counter passed through a mixer.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound), without bias: values that do not divide are redrawn.
  uint64_t below(uint64_t bound) {
    const uint64_t rest = -bound % bound;
    uint64_t value = next();
    while (value < rest)
      value = next();
    return value % bound;
  }

private:
  uint64_t state_;
};

} // namespace

std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random random(Random(seed).next() ^ Random(~epoch).next());
  for (uint64_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

Cursor Sampling::cursorAfter(int64_t updates, int64_t samples) const {
  const int64_t perEpoch = updatesPerEpoch(samples);
  const int64_t first = (samples - from.sample) / samplesOfUpdate();
  const int64_t done = updates - since;
  if (done < first)
    return {from.epoch, from.sample + done * samplesOfUpdate()};
  return {from.epoch + 1 + (done - first) / perEpoch,
          (done - first) % perEpoch * samplesOfUpdate()};
}

namespace {

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

// Each thread takes the next row; of errors the first row's is told, whoever
// was faster.
Status fillRows(const Dataset &dataset, std::span<const int64_t> rows,
                const TrainingPass *pass, Batch &batch) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t failedAt = rows.size();
  Status error;
  const auto threads =
      std::clamp<size_t>(static_cast<size_t>(dataset.workers()), 1,
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

Batch makeBatch(const Dataset &dataset, int64_t rows) {
  Batch batch;
  for (const Column &column : dataset.columns())
    batch.emplace_back(
        column.sampleBytes() *
        (column.spec().isShared ? 1 : static_cast<uint64_t>(rows)));
  return batch;
}

Loader::Loader(const Dataset &dataset, const Sampling &sampling, int64_t first,
               int64_t last)
    : dataset_(dataset), sampling_(sampling), next_(first * sampling.window),
      last_(last * sampling.window), made_(next_) {
  for (int64_t i = 0; i < kRing; ++i)
    ring_.push_back(makeBatch(dataset, sampling.batch));
  if (dataset.options().mixes())
    before_ = makeBatch(dataset, 1);
  thread_ = std::thread([this] { work(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<const Batch *> Loader::next() {
  std::unique_lock lock(mutex_);
  if (next_ >= last_)
    return nullptr;
  const auto since = std::chrono::steady_clock::now();
  changed_.wait(lock, [&] { return made_ > next_ || !error_.ok(); });
  waited_ += std::chrono::steady_clock::now() - since;
  if (made_ <= next_)
    return error_;
  const Batch *batch = &ring_[static_cast<size_t>(next_++ % kRing)];
  changed_.notify_all();
  return batch;
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
      // The batch before next_ is still in use.
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || number - next_ + 1 < kRing; });
      if (stop_)
        return {};
    }
    DLC_TRY(makeBatchOf(number, ring_[static_cast<size_t>(number % kRing)]));
    std::lock_guard lock(mutex_);
    made_ = number + 1;
    changed_.notify_all();
  }
  return {};
}

Status Loader::makeBatchOf(int64_t number, Batch &batch) {
  const Cursor update =
      sampling_.cursorAfter(number / sampling_.window, dataset_.samples());
  if (update.epoch != epoch_) {
    if (sampling_.shuffle) {
      order_ = shuffledOrder(dataset_.samples(), sampling_.seed,
                             static_cast<uint64_t>(update.epoch));
    } else if (order_.empty()) {
      order_.resize(static_cast<size_t>(dataset_.samples()));
      std::iota(order_.begin(), order_.end(), 0);
    }
    epoch_ = update.epoch;
  }
  const int64_t first =
      update.sample +
      (number % sampling_.window * sampling_.world + sampling_.rank) *
          sampling_.batch;
  const TrainingPass pass{sampling_.seed, update.epoch};
  DLC_TRY(fillBatch(
      dataset_, {order_.data() + first, static_cast<size_t>(sampling_.batch)},
      &pass, batch));
  return dataset_.options().mixes() ? mix(first, update, pass, batch)
                                    : Status();
}

// A batch whose samples are the update's from `first` on.
Status Loader::mix(int64_t first, const Cursor &update,
                   const TrainingPass &pass, Batch &batch) {
  const int64_t before = first == update.sample
                             ? update.sample + sampling_.samplesOfUpdate() - 1
                             : first - 1;
  DLC_TRY(fillBatch(dataset_, {order_.data() + before, 1}, &pass, before_));
  const MixDraw draw = drawMix(dataset_, pass, update.sample);
  for (auto at = static_cast<size_t>(sampling_.batch) - 1; at > 0; --at)
    mixSample(dataset_, draw, batch, at - 1, batch, at);
  mixSample(dataset_, draw, before_, 0, batch, 0);
  return {};
}

} // namespace dlc

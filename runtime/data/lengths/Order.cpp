// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/lengths/Order.h"

#include <numeric>
#include <utility>

namespace dlc {
namespace {

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

  // Uniform in [0, bound), without bias, by rejection.
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

int64_t Sampling::takenOf(size_t set) const {
  return from.taken.empty() ? from.sample : from.taken[set];
}

int64_t Sampling::updatesOf(int64_t samples) const {
  const int64_t all = samplesOfUpdate();
  return samples / all + (pads && samples % all != 0);
}

int64_t Sampling::updatesPerEpoch(std::span<const int64_t> counts) const {
  int64_t updates = 0;
  for (const int64_t count : counts)
    updates += updatesOf(count);
  return updates;
}

Cursor Sampling::cursorAfter(int64_t updates,
                             std::span<const int64_t> counts) const {
  const int64_t perEpoch = updatesPerEpoch(counts);
  int64_t first = 0;
  for (size_t set = 0; set < counts.size(); ++set)
    first += updatesOf(counts[set] - takenOf(set));
  const int64_t done = updates - since;
  if (done < first)
    return {from.epoch, from.sample + done * samplesOfUpdate()};
  return {from.epoch + 1 + (done - first) / perEpoch,
          (done - first) % perEpoch * samplesOfUpdate()};
}

SampleOrder::SampleOrder(const Sampling &sampling, std::vector<int64_t> counts)
    : sampling_(sampling), counts_(std::move(counts)), rows_(counts_.size()),
      places_(counts_.size()) {}

void SampleOrder::begin(int64_t epoch) {
  const bool isFirst = epoch == sampling_.from.epoch;
  const int64_t all = std::accumulate(counts_.begin(), counts_.end(), 0LL);
  sample_ = isFirst ? sampling_.from.sample : 0;
  taken_.assign(counts_.size(), 0);
  if (isFirst && !sampling_.from.taken.empty())
    taken_ = sampling_.from.taken;
  else if (counts_.size() == 1)
    taken_[0] = sample_;
  // Without shuffling every epoch has the same order.
  if (epoch_ != epoch && (sampling_.shuffle || epoch_ < 0)) {
    std::vector<int64_t> order;
    if (sampling_.shuffle) {
      order = shuffledOrder(all, sampling_.seed, uint64_t(epoch));
    } else {
      order.resize(size_t(all));
      std::iota(order.begin(), order.end(), 0);
    }
    if (counts_.size() == 1) { // large: avoids a copy
      rows_[0] = std::move(order);
      order.clear();
    }
    for (size_t set = 0; set < rows_.size() && counts_.size() > 1; ++set) {
      rows_[set].clear(), rows_[set].reserve(size_t(counts_[set]));
      places_[set].clear(), places_[set].reserve(size_t(counts_[set]));
    }
    for (int64_t place = 0; place < int64_t(order.size()); ++place) {
      int64_t row = order[size_t(place)];
      size_t set = 0;
      while (row >= counts_[set])
        row -= counts_[set++];
      rows_[set].push_back(row);
      places_[set].push_back(place);
    }
  }
  epoch_ = epoch;
}

// The data set whose next update is full first.
size_t SampleOrder::nextSet() const {
  size_t next = 0;
  int64_t earliest = -1;
  for (size_t set = 0; set < counts_.size() && counts_.size() > 1; ++set) {
    const int64_t last = taken_[set] + sampling_.samplesOfUpdate() - 1;
    if (last >= counts_[set])
      continue;
    const int64_t place = places_[set][size_t(last)];
    if (earliest < 0 || place < earliest)
      earliest = place, next = set;
  }
  return next;
}

SampleOrder::Update SampleOrder::at(int64_t number) {
  Cursor cursor = sampling_.cursorAfter(number, counts_);
  if (cursor.epoch != epoch_ || cursor.sample < sample_)
    begin(cursor.epoch);
  const int64_t size = sampling_.samplesOfUpdate();
  for (; sample_ < cursor.sample; sample_ += size)
    taken_[nextSet()] += size;
  const size_t set = nextSet();
  Cursor end = sampling_.cursorAfter(number + 1, counts_);
  if (counts_.size() > 1) {
    cursor.taken = end.taken = taken_;
    end.taken[set] += size;
    if (end.epoch != epoch_)
      end.taken.assign(counts_.size(), 0);
  }
  const int64_t there = std::min(size, counts_[set] - taken_[set]);
  return {std::move(cursor), std::move(end), set,
          std::span(rows_[set]).subspan(size_t(taken_[set]), size_t(there))};
}

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// The samples of each update of a run, the same on all machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace dlc {

// A position in the data: the number of samples taken in an epoch.
struct Cursor {
  int64_t epoch = 0;
  int64_t sample = 0;
  // With several data sets: the number taken of each.
  std::vector<int64_t> taken = {};
};

// The samples of each batch, the same on all machines:
//   rows of batch s of an update = order[sample + s * B * world + rank * B, +
//   B)
// where (epoch, sample) is the update's cursor, and order the identity or a
// permutation determined by (seed, epoch). An update has `window` batches.
// Samples at the end of an epoch that do not fill an update are dropped, or
// (`pads`) completed by repetitions of the last one with weight 0; with n of
// the update's G = B * world * window samples present, each of them has weight
// G / n, so that means over ranks, window and rows are means over the n
// samples. In a full update all weights are 1. Several data sets are not
// padded; their samples share one order, see SampleOrder.
struct Sampling {
  int64_t batch = 1; // B, of one rank
  int64_t window = 1;
  int rank = 0;
  int world = 1;
  bool shuffle = true;
  uint64_t seed = 0;
  bool pads = false;
  // Where these ranks began to share the samples: after `since` updates,
  // possibly by another number of ranks, which took the data up to `from`.
  int64_t since = 0;
  Cursor from = {};

  int64_t samplesOfUpdate() const { return batch * world * window; }
  // How many samples of the update at `cursor` exist in an epoch of `samples`.
  int64_t samplesFrom(const Cursor &cursor, int64_t samples) const {
    return pads ? std::min(samplesOfUpdate(), samples - cursor.sample)
                : samplesOfUpdate();
  }
  // For data sets with these numbers of samples.
  int64_t updatesPerEpoch(std::span<const int64_t> counts) const;
  // The cursor after `updates` updates of the run, at least `since`; at the end
  // of an epoch it is the start of the next one. Does not set `taken`.
  Cursor cursorAfter(int64_t updates, std::span<const int64_t> counts) const;
  Cursor cursorAfter(int64_t updates, int64_t samples) const {
    return cursorAfter(updates, {&samples, 1});
  }

private:
  int64_t takenOf(size_t set) const;
  int64_t updatesOf(int64_t samples) const;
};

// The permutation of [0, count) determined by (seed, epoch).
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch);

// Updates of an epoch in order. Each takes samples of one data set: the samples
// of all sets are in one order, each joins the pending update of its set, and
// updates are emitted as they become full. So the next update only depends on
// the samples taken of each set and on the update's size, and any number of
// ranks can continue.
class SampleOrder {
public:
  SampleOrder(const Sampling &sampling, std::vector<int64_t> counts);

  struct Update {
    Cursor begin, end;
    size_t set = 0;
    // The samples that exist in the data set; valid until the next call.
    std::span<const int64_t> rows;
  };
  // Update `number` of the run, at least sampling.since. Forward steps cost a
  // look at each data set per update; backward steps restart the epoch.
  Update at(int64_t number);

private:
  void begin(int64_t epoch);
  size_t nextSet() const;

  Sampling sampling_;
  std::vector<int64_t> counts_;
  int64_t epoch_ = -1, sample_ = 0; // current position
  std::vector<int64_t> taken_;      // of each set
  // For each data set its rows in order, and their positions in the order of
  // all.
  std::vector<std::vector<int64_t>> rows_, places_;
};

} // namespace dlc

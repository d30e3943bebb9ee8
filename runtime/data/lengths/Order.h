// SPDX-License-Identifier: Apache-2.0
// Which samples each update of a run takes, the same on all machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace dlc {

// A place in the data: so many samples of an epoch, counted from 0, were taken.
struct Cursor {
  int64_t epoch = 0;
  int64_t sample = 0;
  // Of several data sets: of each.
  std::vector<int64_t> taken = {};
};

// Which samples make up each batch, the same on all machines:
//   rows of batch s of an update = order[sample + s * B * world + rank * B, +
//   B)
// where (epoch, sample) is the update's cursor and order the identity, or a
// permutation given by (seed, epoch). An update takes `window` batches. What
// does not fill one at the end of an epoch is left out, or it makes one
// (`pads`) with repetitions of its last sample that do not count: their weight
// is 0 and that of each other G / n, where n of its G = B * world * window
// samples are there, so that means over ranks, window and rows are those of the
// n samples. All have weight 1 in an update that is full. Of several data sets,
// which are not padded, all samples are in one order; see SampleOrder.
struct Sampling {
  int64_t batch = 1; // B, of one rank
  int64_t window = 1;
  int rank = 0;
  int world = 1;
  bool shuffle = true;
  uint64_t seed = 0;
  bool pads = false;
  // Where these ranks begin to share the samples: `since` updates were done,
  // maybe by more ranks or fewer, and took the data up to `from`.
  int64_t since = 0;
  Cursor from = {};

  int64_t samplesOfUpdate() const { return batch * world * window; }
  // Of those of an update, how many are there from this place of `samples` on.
  int64_t samplesFrom(const Cursor &cursor, int64_t samples) const {
    return pads ? std::min(samplesOfUpdate(), samples - cursor.sample)
                : samplesOfUpdate();
  }
  // Of data sets with so many samples each.
  int64_t updatesPerEpoch(std::span<const int64_t> counts) const;
  int64_t updatesPerEpoch(int64_t samples) const {
    return updatesPerEpoch({&samples, 1});
  }
  // After `updates` of a run, at least `since`, in data sets of so many
  // samples, but for `taken`; at the end of an epoch it is the next one's
  // begin.
  Cursor cursorAfter(int64_t updates, std::span<const int64_t> counts) const;
  Cursor cursorAfter(int64_t updates, int64_t samples) const {
    return cursorAfter(updates, {&samples, 1});
  }

private:
  int64_t takenOf(size_t set) const;
  int64_t updatesOf(int64_t samples) const;
};

// The permutation of [0, count) that (seed, epoch) gives.
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch);

// The updates of an epoch, one after the other. Each takes samples of one data
// set: all samples, counted through the sets, are in one order, each waits for
// enough others of its own set, and the update that is full first comes first.
// So what comes next depends on what was taken of each set and on the size of
// an update alone, and any number of ranks may go on from there.
class SampleOrder {
public:
  SampleOrder(const Sampling &sampling, std::vector<int64_t> counts);

  struct Update {
    Cursor begin, end;
    size_t set = 0;
    // Of the set, those that are there; valid until the next call.
    std::span<const int64_t> rows;
  };
  // Update `number` of the run, at least sampling.since. Going forward costs a
  // look at each set for every update between; going back begins the epoch
  // anew.
  Update at(int64_t number);

private:
  void begin(int64_t epoch);
  size_t nextSet() const;

  Sampling sampling_;
  std::vector<int64_t> counts_;
  int64_t epoch_ = -1, sample_ = 0; // where it stands
  std::vector<int64_t> taken_;      // of each set
  // Of each set its rows in their order, and where in the order of all.
  std::vector<std::vector<int64_t>> rows_, places_;
};

} // namespace dlc

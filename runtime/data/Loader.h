// Batches of a data set in a fixed order, made ahead by a thread.
#pragma once

#include "runtime/data/Dataset.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace dlc {

// A place in the data: so many samples of an epoch, counted from 0, were taken.
struct Cursor {
  int64_t epoch = 0;
  int64_t sample = 0;
};

// Which samples make up each batch, the same on all machines:
//   rows of batch s of an update = order[sample + s * B * world + rank * B, +
//   B)
// where (epoch, sample) is the update's cursor and order the identity, or a
// permutation given by (seed, epoch). An update takes `window` batches; what
// does not fill an update at the end of an epoch is left out.
struct Sampling {
  int64_t batch = 1; // B, of one rank
  int64_t window = 1;
  int rank = 0;
  int world = 1;
  bool shuffle = true;
  uint64_t seed = 0;
  // Where these ranks begin to share the samples: `since` updates were done,
  // maybe by more ranks or fewer, and took the data up to `from`.
  int64_t since = 0;
  Cursor from = {};

  int64_t samplesOfUpdate() const { return batch * world * window; }
  int64_t updatesPerEpoch(int64_t samples) const {
    return samples / samplesOfUpdate();
  }
  // After `updates` of a run, at least `since`, in a data set of so many
  // samples; at the end of an epoch it is the next one's begin.
  Cursor cursorAfter(int64_t updates, int64_t samples) const;
};

// The permutation of [0, count) that (seed, epoch) gives.
std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch);

// One batch: for each column of the data set its bytes.
using Batch = std::vector<std::vector<std::byte>>;

// Copies `rows` to `batch`, whose buffers have the right size already; the data
// set's workers share them. Without a pass: as they are evaluated.
Status fillBatch(const Dataset &dataset, std::span<const int64_t> rows,
                 const TrainingPass *pass, Batch &batch);
Batch makeBatch(const Dataset &dataset, int64_t rows);

// The batches of updates [first, last) of a run, which are counted over all
// epochs. The data set must outlive the loader and fill at least one update.
// One thread calls next(); nothing is allocated in it within an epoch. Its
// thread makes batches until one cannot be made.
class Loader {
public:
  Loader(const Dataset &dataset, const Sampling &sampling, int64_t first,
         int64_t last);
  ~Loader();

  // The next batch, valid until the next call; null after the last. An error if
  // it could not be made.
  Result<const Batch *> next();

  // How long next() has waited so far, in seconds; of its thread.
  double waited() const { return waited_.count(); }

private:
  void work();
  Status makeBatches();
  Status makeBatchOf(int64_t number, Batch &batch);
  Status mix(int64_t first, const Cursor &update, const TrainingPass &pass,
             Batch &batch);

  const Dataset &dataset_;
  Sampling sampling_;
  int64_t next_, last_, made_; // batches
  std::vector<Batch> ring_;
  Batch before_; // a sample, if batches are mixed
  std::vector<int64_t> order_;
  int64_t epoch_ = -1; // of order_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::duration<double> waited_{};
  bool stop_ = false;
  Status error_;       // of the thread, after which it makes no more
  std::thread thread_; // last: it uses the rest
};

} // namespace dlc

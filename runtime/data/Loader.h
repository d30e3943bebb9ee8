// SPDX-License-Identifier: Apache-2.0
// Batches of a data set in a fixed order, prefetched by a thread.
#pragma once

#include "runtime/data/Dataset.h"
#include "runtime/data/lengths/Order.h"
#include "runtime/data/stream/SampleStream.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace dlc {

// The bytes of each column of the data set.
using Batch = std::vector<std::vector<std::byte>>;

// Copies `rows` to `batch`, whose buffers must have the right size, on the data
// set's workers. pass == nullptr: evaluation.
Status fillBatch(const Dataset &dataset, std::span<const int64_t> rows,
                 const TrainingPass *pass, Batch &batch);
Batch makeBatch(const Dataset &dataset, int64_t rows);
// Resizes the buffers of a batch.
void resizeBatch(const Dataset &dataset, int64_t rows, Batch &batch);

// Batches of updates [first, last) of a run, numbered across epochs, from data
// sets with the same columns, each with its own shapes. The data sets must
// outlive the loader; one of them must fill an update unless updates are
// padded. One thread calls next(), which does not allocate within an epoch. The
// loader's thread makes batches until the first error. A stream must be the
// only data set; each rank takes its samples in order of arrival, whatever
// `shuffle` is.
class Loader {
public:
  Loader(std::span<const Dataset> sets, const Sampling &sampling, int64_t first,
         int64_t last);
  ~Loader();

  // A batch, the index of its data set, and the cursor after its update.
  struct Made {
    Batch batch;
    size_t set = 0;
    Cursor end;
  };
  // The next batch, valid until the next call; null after the last. An error if
  // it could not be made.
  Result<const Made *> next();
  // Blocks until the next batch, or all batches of the next update of a stream,
  // are ready, so that next() returns without waiting. The error is that of
  // next().
  Status ready();
  // After an error: see SampleStream::wasStopped().
  bool wasStopped() const { return stream_ && stream_->wasStopped(); }
  bool isStream() const { return stream_ != nullptr; }

  // Seconds that next() has waited; call on the thread of next().
  double waited() const { return waited_.count(); }
  // Seconds that the loader's thread has spent on making or reading batches.
  double made() {
    std::lock_guard lock(mutex_);
    return making_.count();
  }

private:
  bool waitFor(int64_t batch);
  void work();
  Status makeBatches();
  Status makeBatchOf(int64_t number, Made &made);
  Status readBatch(int64_t number, Made &made);
  Status mix(const Dataset &dataset, const SampleOrder::Update &update,
             size_t first, const TrainingPass &pass, Batch &batch);
  void weigh(const Dataset &dataset, const SampleOrder::Update &update,
             size_t first, Batch &batch) const;

  std::span<const Dataset> sets_;
  Sampling sampling_;
  int64_t next_, last_, made_; // batches
  std::vector<Made> ring_;
  Batch before_; // one sample, if batches are mixed
  SampleOrder order_;
  std::vector<int64_t> rows_;            // of a batch
  std::unique_ptr<SampleStream> stream_; // null: samples are rows of files
  std::vector<std::byte> records_;       // a batch of the stream
  int64_t epoch_ = -1;                   // of the stream
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::duration<double> waited_{}, making_{};
  bool stop_ = false;
  Status error_;       // of the thread, which then ends
  std::thread thread_; // last: it uses all members above
};

// Number of samples of each data set.
std::vector<int64_t> countsOf(std::span<const Dataset> sets);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Batches of a data set in a fixed order, made ahead by a thread.
#pragma once

#include "runtime/data/Dataset.h"
#include "runtime/data/lengths/Order.h"
#include "runtime/data/stream/SampleStream.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace dlc {

// One batch: for each column of the data set its bytes.
using Batch = std::vector<std::vector<std::byte>>;

// Copies `rows` to `batch`, whose buffers have the right size already; the data
// set's workers share them. Without a pass: as they are evaluated.
Status fillBatch(const Dataset &dataset, std::span<const int64_t> rows,
                 const TrainingPass *pass, Batch &batch);
Batch makeBatch(const Dataset &dataset, int64_t rows);
// The same in a batch that there is.
void resizeBatch(const Dataset &dataset, int64_t rows, Batch &batch);

// The batches of updates [first, last) of a run, which are counted over all
// epochs, of data sets that have the same columns, each in shapes of its own.
// They must outlive the loader, and one of them fill an update, unless that is
// padded. One thread calls next(); nothing is allocated in it within an epoch.
// Its thread makes batches until one cannot be made. Of a source that is a
// stream, which is then the only one, each rank takes the samples that come,
// whatever `shuffle` says.
class Loader {
public:
  Loader(std::span<const Dataset> sets, const Sampling &sampling, int64_t first,
         int64_t last);
  Loader(const Dataset &dataset, const Sampling &sampling, int64_t first,
         int64_t last)
      : Loader(std::span(&dataset, 1), sampling, first, last) {}
  ~Loader();

  // A batch, of one of the data sets, and where its update ends.
  struct Made {
    Batch batch;
    size_t set = 0;
    Cursor end;
  };
  // The next batch, valid until the next call; null after the last. An error if
  // it could not be made.
  Result<const Made *> next();
  // Waits for the next batch, or of a stream for all of the next update: next()
  // then gives them at once, or this error.
  Status ready();
  // After its error: SampleStream::wasStopped().
  bool wasStopped() const { return stream_ && stream_->wasStopped(); }
  bool isStream() const { return stream_ != nullptr; }

  // How long next() has waited so far, in seconds; of its thread.
  double waited() const { return waited_.count(); }
  // How long the thread has made batches or read them from a stream so far.
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
  Batch before_; // a sample, if batches are mixed
  SampleOrder order_;
  std::vector<int64_t> rows_;            // of a batch
  std::unique_ptr<SampleStream> stream_; // null: samples are files' rows
  std::vector<std::byte> records_;       // of a batch of it
  int64_t epoch_ = -1;                   // of it
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::duration<double> waited_{}, making_{};
  bool stop_ = false;
  Status error_;       // of the thread, after which it makes no more
  std::thread thread_; // last: it uses the rest
};

// How many samples each has.
std::vector<int64_t> countsOf(std::span<const Dataset> sets);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Runs a program over the samples of a data set, starting batches before
// earlier results are read, so that a GPU is never idle.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"

#include <deque>
#include <functional>

namespace dlc {

class BatchSweep {
public:
  // A program for batches of `batch` samples.
  struct Part {
    const plan::Program *program;
    int64_t batch;
  };
  // Called for each batch in order, with the number of its samples without
  // padding, its program, and the program's outputs in order.
  using Take = std::function<Status(int64_t samples, const Part &part,
                                    std::span<const TensorView>)>;

  // All arguments must outlive it. `parts` is the program for one or several
  // batch sizes, the largest first.
  BatchSweep(Executor &executor, std::vector<Part> parts,
             const Dataset &dataset);

  // Runs batches `first`, `first` + `stride` ... of the largest size, which
  // shares batches between ranks. The last batch of all has the smallest size
  // that fits, padded by repeated samples, which are not passed on. Errors name
  // the samples of the first batch that fails. If the program has a collective,
  // each rank runs the same number of batches of the same sizes, with only
  // padding if it has no batch left.
  Status run(int64_t first, int64_t stride, const Take &take);

private:
  struct Rows {
    int64_t first, count; // 0: repetitions of sample `first`
    size_t part;
  };
  size_t partFor(int64_t count) const;
  bool hasCollectives() const;
  Status start(const Rows &rows);
  Status read(const Take &take);
  Status named(const Status &status, const Rows &rows) const;

  Executor &executor_;
  const std::vector<Part> parts_;
  const Dataset &dataset_;
  std::vector<Batch> batches_; // of each part
  std::vector<int64_t> rows_;  // of the data set, in batch_
  std::deque<Rows> started_;   // and not read
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// A program over the samples of a data set, in batches that are started ahead
// of what is known of them, so that a GPU never waits.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"

#include <deque>
#include <functional>

namespace dlc {

class BatchSweep {
public:
  // A program for so many samples.
  struct Part {
    const plan::Program *program;
    int64_t batch;
  };
  // Called for each batch in their order, with how many of its samples count,
  // the program that took it and what that put out, in its order.
  using Take = std::function<Status(int64_t samples, const Part &part,
                                    std::span<const TensorView>)>;

  // All must outlive it. The same program for one batch or several, the largest
  // first.
  BatchSweep(Executor &executor, std::vector<Part> parts,
             const Dataset &dataset);

  // Batches `first`, `first` + `stride` ... of the largest size. The last of
  // all is of the smallest that it fits, and filled up with repetitions, which
  // do not count. An error names its samples; of several batches that fail it
  // is the first one's. Ranks share batches out so; where the program has a
  // collective, each runs as often as the others, of the same size, with
  // samples that do not count if it has no batch left.
  Status run(int64_t first, int64_t stride, const Take &take);

private:
  struct Rows {
    int64_t first, count; // none: repetitions of sample `first`
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

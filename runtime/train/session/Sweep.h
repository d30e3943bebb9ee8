// A program over the samples of a data set, in batches that are started ahead
// of what is known of them, so that a GPU never waits.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"

#include <deque>
#include <functional>

namespace dlc {

class Sweep {
public:
  // Called for each batch in their order, with how many of its samples count
  // and the outputs of the program in its order.
  using Take =
      std::function<Status(int64_t samples, std::span<const TensorView>)>;

  // All must outlive it. `batch`: the samples of one.
  Sweep(Executor &executor, const plan::Program &program,
        const Dataset &dataset, int64_t batch);

  // Batches `first`, `first` + `stride` ... The last of all is filled up with
  // repetitions, which do not count. An error names its samples; of several
  // batches that fail it is the first one's.
  Status run(int64_t first, int64_t stride, const Take &take);

private:
  struct Rows {
    int64_t first, count;
  };
  Status start(const Rows &rows);
  Status read(const Take &take);
  Status named(const Status &status, const Rows &rows) const;

  Executor &executor_;
  const plan::Program &program_;
  const Dataset &dataset_;
  int64_t size_;
  Batch batch_;
  std::vector<int64_t> rows_; // of the data set, in batch_
  std::deque<Rows> started_;  // and not read
};

} // namespace dlc

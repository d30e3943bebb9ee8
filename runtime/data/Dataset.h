// SPDX-License-Identifier: Apache-2.0
// Samples checked against what a program takes.
#pragma once

#include "runtime/data/Finish.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

// One input of a program, as the data must fill it.
struct InputSpec {
  std::string key; // array in the data file
  DType dtype = DType::F32;
  std::vector<int64_t> shape; // of one batch
  int64_t limit = 0;          // integers must lie in [0, limit); 0: any
  bool isLabel = false;       // its shape counts by entries a sample only
  bool isShared = false;      // the array is that of all samples, as a whole
  bool fromEnd = false;       // a limit's integers may count from the end
  // How much each sample counts, f32: of no array, but made by the Loader.
  bool isWeight = false;
};

// Whether the array has classes and the input takes the share of each, which
// they become if batches are mixed.
bool becomesShares(const Array &array, const InputSpec &spec, int64_t batch,
                   const SampleOptions &options);

// An array of the file bound to an input.
class Column {
public:
  const InputSpec &spec() const { return spec_; }
  uint64_t sampleBytes() const { return elements_ * sizeOf(spec_.dtype); }
  // Of an input of pictures.
  std::optional<PixelLayout> layout() const;

  // Sample `row`, converted, to `to` (sampleBytes()); what is shared as a
  // whole; a weight of 1. Without a pass: as it is evaluated. An error, naming
  // the row, if it cannot be read, or its integers are out of range and could
  // not be checked before.
  Status copySample(int64_t row, const TrainingPass *pass, std::byte *to) const;
  // The same of a row of the source that the caller has, in its type.
  Status convertSample(const std::byte *from, int64_t row,
                       const TrainingPass *pass, std::byte *to) const;

private:
  friend class Dataset;
  using Convert = void (*)(const std::byte *from, std::byte *to, uint64_t count,
                           double scale);

  Status write(const std::byte *from, int64_t row, const TrainingPass *pass,
               std::byte *to) const;
  Status writeOneHot(const std::byte *from, int64_t row, std::byte *to) const;
  // Of a row of the source.
  uint64_t stride() const {
    return (isOneHot_ ? 1 : elements_) * sizeOf(found_);
  }
  Status checkRange(const std::byte *values, int64_t firstRow,
                    int64_t rows) const;
  Status checkRows(int64_t rows) const;

  InputSpec spec_;
  DType found_ = DType::F32; // of the source
  std::shared_ptr<const RowReader> rows_;
  const std::byte *all_ = nullptr; // the rows, if they are in memory: checked
  uint64_t elements_ = 0;
  double scale_ = 1;
  Convert convert_ = nullptr;
  // After convert_, which then gives f32, and before narrow_ (null: none).
  std::optional<Finish> finish_;
  Convert narrow_ = nullptr;
  bool isOneHot_ = false; // a class becomes its share of 1
};

// Immutable after it is opened, but for setWorkers(); any thread may read.
class Dataset {
public:
  // Reads, as far as they are held in memory, and checks the arrays that
  // `inputs` name: dtype, shape of a sample, the same number of samples in all,
  // the range of integers. A float input takes u8 images times `scale` (1/255
  // if absent), and other numbers times `scale` only if it is given. `batch` is
  // the first dimension of the inputs in samples. If batches are mixed, classes
  // become shares of 1 where the program takes those. Errors say what was found
  // and expected, by file and key.
  static Result<Dataset> open(std::shared_ptr<const Source> source,
                              const std::vector<InputSpec> &inputs,
                              int64_t batch, const SampleOptions &options);
  // Of the file at `path`.
  static Result<Dataset> open(const std::string &path,
                              const std::vector<InputSpec> &inputs,
                              int64_t batch, const SampleOptions &options);

  // Threads that fillBatch() may use; 0: the cores, shared by so many ranks,
  // if samples are slow to read, else 1. Without a call: as (0, 1).
  void setWorkers(int workers, int ranks);
  int workers() const { return workers_; }

  int64_t samples() const { return samples_; }
  const std::vector<Column> &columns() const { return columns_; }
  const Source &source() const { return *source_; }
  const SampleOptions &options() const { return options_; }
  std::string path() const { return source_->name(); }

private:
  Status bind(const InputSpec &spec, int64_t batch);

  Status checkFinish() const;
  Status checkMix() const;

  std::shared_ptr<const Source> source_;
  SampleOptions options_;
  int64_t samples_ = 0;
  int workers_ = 1;
  std::vector<Column> columns_;
};

} // namespace dlc

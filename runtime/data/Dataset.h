// SPDX-License-Identifier: Apache-2.0
// Samples that were checked against a program's inputs.
#pragma once

#include "runtime/data/Convert.h"
#include "runtime/data/Source.h"
#include "runtime/data/pictures/ArrayLayout.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

// Normalisation and random erasing of a sample, after its conversion to f32.

class Finish {
public:
  // For an input with samples of this shape. Immutable.
  Finish(const SampleOptions &options, const std::vector<int64_t> &sample);

  bool normalizes() const { return !mean_.empty(); }
  bool erases() const { return erase_ > 0; }
  // Applies torchvision's Normalize, and RandomErasing if there is a pass.
  void apply(std::span<float> values, int64_t row,
             const TrainingPass *pass) const;

private:
  void normalize(std::span<float> values) const;

  std::vector<float> mean_, std_; // per channel, or one for all
  bool planar_ = true;            // channels first
  double erase_ = 0;              // probability
  PixelLayout layout_;            // if erases()
};

// torchvision's RandomErasing: area 0.02 to 0.33 of the picture, width / height
// 0.3 to 3.3; a box of height 0 if ten tries fail.
PictureBox drawErased(PictureSize size, SampleDraws &draws);

// An input of a program and what it requires of the data.
struct InputSpec {
  std::string key; // array in the data file
  DType dtype = DType::F32;
  std::vector<int64_t> shape; // of one batch
  int64_t limit = 0;          // integers must be in [0, limit); 0: any
  bool isLabel = false;       // only the number of entries per sample matters
  bool isShared = false;      // one array, without rows, serves all samples
  bool fromEnd = false;       // negative integers index from the end
  // Weight of each sample, f32; made by the Loader, not read from an array.
  bool isWeight = false;
};

// Whether the array has class numbers but the input takes class probabilities:
// the numbers become one-hot if batches are mixed.
bool becomesShares(const Array &array, const InputSpec &spec, int64_t batch,
                   const SampleOptions &options);

// An array of the file bound to an input.
class Column {
public:
  const InputSpec &spec() const { return spec_; }
  uint64_t sampleBytes() const { return elements_ * sizeOf(spec_.dtype); }
  // Layout of an input of pictures.
  std::optional<PixelLayout> layout() const;

  // Writes sample `row`, converted, to `to` (sampleBytes() bytes); the whole
  // array if it is shared; 1 for a weight. pass == nullptr: evaluation. An
  // error, with the row, if it cannot be read, or if integers that could not be
  // checked at opening are out of range.
  Status copySample(int64_t row, const TrainingPass *pass, std::byte *to) const;
  // The same for a row of the source in memory, in the source's type.
  Status convertSample(const std::byte *from, int64_t row,
                       const TrainingPass *pass, std::byte *to) const;

private:
  friend class Dataset;

  Status write(const std::byte *from, int64_t row, const TrainingPass *pass,
               std::byte *to) const;
  Status writeOneHot(const std::byte *from, int64_t row, std::byte *to) const;
  // Bytes of a row of the source.
  uint64_t stride() const {
    return (isOneHot_ ? 1 : elements_) * sizeOf(found_);
  }
  Status checkRange(const std::byte *values, int64_t firstRow,
                    int64_t rows) const;
  Status checkRows(int64_t rows) const;

  InputSpec spec_;
  DType found_ = DType::F32; // type in the source
  std::shared_ptr<const RowReader> rows_;
  const std::byte *all_ = nullptr; // the rows if in memory, already checked
  uint64_t elements_ = 0;
  double scale_ = 1;
  ConvertFunction convert_ = nullptr;
  // Applied to the f32 results of convert_, before narrow_ (null: none).
  std::optional<Finish> finish_;
  ConvertFunction narrow_ = nullptr;
  bool isOneHot_ = false; // class numbers become one-hot
};

// Immutable after opening, except for setWorkers(). Thread-safe for reading.
class Dataset {
public:
  // Opens and checks the arrays of `inputs`: dtype, sample shape, equal numbers
  // of samples, and the range of integers if they are in memory. A float input
  // accepts u8 images, multiplied by `scale` (default 1/255), and other
  // numbers, multiplied by `scale` only if it is set. `batch` is the first
  // dimension of inputs with a row per sample. If batches are mixed, class
  // numbers become one-hot where the program takes probabilities. Errors name
  // file and key, with expected and actual values.
  static Result<Dataset> open(std::shared_ptr<const Source> source,
                              const std::vector<InputSpec> &inputs,
                              int64_t batch, const SampleOptions &options);

  // Number of threads for fillBatch(); 0: cores / `ranks` if samples are slow
  // to read, else 1. The default is (0, 1).
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

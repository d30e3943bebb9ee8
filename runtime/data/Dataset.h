// Samples in memory, checked against what a program takes.
#pragma once

#include "runtime/data/Npy.h"

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
};

// An array of the file bound to an input.
class Column {
public:
  const InputSpec &spec() const { return spec_; }
  uint64_t sampleBytes() const { return elements_ * sizeOf(spec_.dtype); }

  // Sample `row`, converted, to `to` (sampleBytes()); what is shared as a
  // whole.
  void copySample(int64_t row, std::byte *to) const;

private:
  friend class Dataset;
  using Convert = void (*)(const std::byte *from, std::byte *to, uint64_t count,
                           double scale);

  InputSpec spec_;
  Array array_;
  uint64_t elements_ = 0;
  double scale_ = 1;
  Convert convert_ = nullptr;
};

// Immutable after it is opened; any thread may read.
class Dataset {
public:
  // Reads and checks the arrays that `inputs` name: dtype, shape of a sample,
  // the same number of samples in all, the range of integers. A float input
  // takes u8 images times `scale` (1/255 if absent), and other numbers times
  // `scale` only if it is given. `batch` is the first dimension of the inputs
  // in samples. Errors say what was found and expected, by file and key.
  static Result<Dataset> open(const std::string &path,
                              const std::vector<InputSpec> &inputs,
                              int64_t batch, std::optional<double> scale);

  int64_t samples() const { return samples_; }
  const std::vector<Column> &columns() const { return columns_; }
  const std::string &path() const { return path_; }

private:
  Status bind(const Array &array, const InputSpec &spec, int64_t batch,
              std::optional<double> scale);

  std::string path_;
  int64_t samples_ = 0;
  std::vector<Column> columns_;
};

} // namespace dlc

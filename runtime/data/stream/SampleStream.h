// SPDX-License-Identifier: Apache-2.0
// Samples that can only be read in order of arrival.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Source.h"

#include <chrono>
#include <limits>

namespace dlc {

// Number of samples of an endless stream, large enough to never be reached.
constexpr int64_t kEndlessSamples = std::numeric_limits<int64_t>::max() / 2;

// A line of JSON: {"dlc": 1, "arrays": [{"name": "x", "dtype": "float32",
// "shape": [1, 28, 28]}, ...], "samples": 60000}. Shapes are of one sample;
// dtypes are numpy's names, or bfloat16; without "samples" the stream is
// endless. A sample's record is its arrays concatenated, little-endian,
// row-major.
struct StreamHeader {
  struct StreamArray {
    std::string name;
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
    uint64_t offset = 0, bytes = 0; // in a record
  };

  std::vector<StreamArray> arrays;
  int64_t samples = kEndlessSamples; // per epoch, for all ranks
  uint64_t recordBytes = 0;

  const StreamArray *find(const std::string &name) const;
};

// Longer lines are not accepted.
constexpr size_t kMaxStreamHeader = 64 << 10;
// Larger records are not accepted.
constexpr uint64_t kMaxStreamRecord = uint64_t(1) << 30;

Result<StreamHeader> parseStreamHeader(std::string_view line);

// A position in a stream: the number of samples of an epoch that all ranks
// together have taken.
struct StreamPlace {
  int64_t epoch = 0;
  int64_t taken = 0;
};

// One thread reads; another one may call stop().
class SampleStream {
public:
  virtual ~SampleStream() = default;
  virtual const StreamHeader &header() const = 0;
  // Sets the position of the next sample; call before the first read().
  virtual Status start(const StreamPlace &place) = 0;
  // Reads the records of the next `count` samples. Errors: the stream ended too
  // early, a timeout, or failure of its program.
  virtual Status read(int64_t count, std::byte *to) = 0;
  // Makes a read() in another thread end soon, with an error.
  virtual void stop() = 0;
  // After an error: whether a signal ended the program, possibly one to all
  // processes of the job.
  virtual bool wasStopped() const = 0;
};

struct StreamOptions {
  std::string command; // run by /bin/sh; empty: standard input
  std::chrono::milliseconds patience{60'000}; // timeout between bytes
  int rank = 0, world = 1;
};

// Starts the command and reads its header. head() has `samples` rows. Each
// Source::stream() starts the command again, with DLC_DATA_EPOCH and
// DLC_DATA_SKIP (a StreamPlace), DLC_RANK and DLC_WORLD_SIZE in the
// environment, except the first one if it begins at the start. Standard input
// cannot be restarted: samples before the position are read and dropped. The
// hash is that of the header.
Result<std::shared_ptr<const Source>> openStream(const StreamOptions &options);

} // namespace dlc

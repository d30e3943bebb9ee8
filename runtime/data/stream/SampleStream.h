// SPDX-License-Identifier: Apache-2.0
// Samples that come in an order of their own, and can be read in it only.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/stream/StreamHeader.h"

#include <chrono>

namespace dlc {

// A place in a stream: so many samples of an epoch were taken, by all ranks
// together.
struct StreamPlace {
  int64_t epoch = 0;
  int64_t taken = 0;
};

// One thread reads; another may stop it.
class SampleStream {
public:
  virtual ~SampleStream() = default;
  virtual const StreamHeader &header() const = 0;
  // What comes next begins there; before the first read().
  virtual Status start(const StreamPlace &place) = 0;
  // The records of the next `count` samples. Errors: too few have come, none
  // for too long, what made them failed.
  virtual Status read(int64_t count, std::byte *to) = 0;
  // A read() in another thread ends soon, with an error.
  virtual void stop() = 0;
  // After an error: what makes the samples has ended, and by a signal that may
  // be one to all processes of the job.
  virtual bool wasStopped() const = 0;
};

struct StreamOptions {
  std::string command; // run by /bin/sh; empty: standard input
  std::chrono::milliseconds patience{60'000}; // between any two bytes
  int rank = 0, world = 1;
};

// Starts the command and reads its header. Heads have `samples` rows. Its
// samples are those of Source::stream(), each of which starts the command
// anew, with DLC_DATA_EPOCH and DLC_DATA_SKIP (a StreamPlace), DLC_RANK and
// DLC_WORLD_SIZE among its variables; but for the first, if it begins at the
// begin. Of standard input, which begins once, what was taken is read and
// passed over. The hash is that of the header.
Result<std::shared_ptr<const Source>> openStream(const StreamOptions &options);

} // namespace dlc

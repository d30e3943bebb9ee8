// SPDX-License-Identifier: Apache-2.0
// Records the last collectives of this process, for the analysis of a failed
// job: begin, end and subject of each.
#pragma once

#include "runtime/base/Status.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace dlc {

// Any thread. Recording allocates nothing and takes about 0.1 microseconds.
class FlightLog {
public:
  static constexpr size_t kKept = 2000;
  // The channel of what a device does.
  static constexpr int kDevice = 255;

  FlightLog();

  // A subject of collectives: a bucket of gradients and the labels of the ONNX
  // nodes that these belong to, "/f1/Gemm; /c1/Conv". Returns its number.
  int addSubject(int64_t bucket, std::string nodes);
  // The current step; 0: none.
  void setStep(int64_t step) { step_ = step; }

  // A collective begins, with its `sequence` in its channel (each further
  // communicator of the ranks has its own channel). `operation` must outlive
  // the recorder; `subject` below 0: none. Returns the argument of end().
  uint64_t begin(int channel, uint64_t sequence, const char *operation,
                 uint64_t bytes, int subject);
  void end(uint64_t number, bool well);

  // The number of collectives begun, on all channels.
  int64_t begun() const { return begun_; }

  // "all_reduce of bucket 3, step 12, gradients of '/a', '/b' and 7 more"
  std::string describe(const char *operation, int subject) const;

  // The same of the oldest one of a channel that waits, "and 3 more"; empty:
  // none does.
  std::string describeWaiting(int channel) const;

  struct Owner {
    int rank = 0, ranks = 1;
    std::string host;
    Status error; // why it is written
  };
  // A JSON object and a newline (README.md says of which members).
  std::string toJson(const Owner &owner) const;

  // Since 1970, of the beginning of this log.
  double started() const { return started_; }

private:
  enum class State : uint8_t { Waits, Done, Failed };
  struct Entry {
    uint64_t sequence = 0, bytes = 0;
    const char *operation = "";
    int64_t step = 0, beginning = 0, end = 0; // of the clock, in ns
    int channel = 0, subject = -1;
    State state = State::Waits;
  };
  struct Subject {
    int64_t bucket;
    std::string nodes;
  };

  // With the mutex.
  std::string textOf(const char *operation, int subject, int64_t step) const;

  const double started_; // seconds
  std::atomic<int64_t> begun_ = 0, step_ = 0;
  mutable std::mutex mutex_; // of what follows
  std::vector<Entry> ring_;  // kKept
  std::vector<Subject> subjects_;
};

// Adds a line to RUN/flight-HOST.jsonl, which is locked meanwhile; the first of
// the host's ranks to fail replaces what an earlier failure left. If it cannot,
// a file in the folder for temporary files, with a warning that names it.
// Whether this is the first line, which others of this host follow.
Result<bool> writeFlight(const FlightLog &log, const FlightLog::Owner &owner,
                         const std::string &run);

} // namespace dlc

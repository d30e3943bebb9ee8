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

// Thread-safe. Recording allocates nothing and takes about 0.1 microseconds.
class FlightLog {
public:
  static constexpr size_t kKept = 2000;
  // The channel of a device's collectives.
  static constexpr int kDevice = 255;

  FlightLog();

  // Adds a subject of collectives: a bucket of gradients and the labels of its
  // ONNX nodes, "/f1/Gemm; /c1/Conv". Returns its number.
  int addSubject(int64_t bucket, std::string nodes);
  // The current step; 0: none.
  void setStep(int64_t step) { step_ = step; }

  // Records the begin of a collective, with its `sequence` in its channel (each
  // further communicator of the ranks has its own channel). `operation` must
  // outlive the log; `subject` below 0: none. Returns the argument of end().
  uint64_t begin(int channel, uint64_t sequence, const char *operation,
                 uint64_t bytes, int subject);
  void end(uint64_t number, bool well);

  // The number of collectives begun, on all channels.
  int64_t begun() const { return begun_; }

  // "all_reduce of bucket 3, step 12, gradients of '/a', '/b' and 7 more"
  std::string describe(const char *operation, int subject) const;

  // Describes a channel's oldest waiting collective, "and 3 more"; else empty.
  std::string describeWaiting(int channel) const;

  struct Owner {
    int rank = 0, ranks = 1;
    std::string host;
    Status error; // why the log is written
  };
  // A JSON object, with the members that README.md lists, and a newline.
  std::string toJson(const Owner &owner) const;

  // When this log was created, in seconds since 1970.
  double started() const { return started_; }

private:
  enum class State : uint8_t { Waits, Done, Failed };
  struct Entry {
    uint64_t sequence = 0, bytes = 0;
    const char *operation = "";
    int64_t step = 0, beginning = 0, end = 0; // ns
    int channel = 0, subject = -1;
    State state = State::Waits;
  };
  struct Subject {
    int64_t bucket;
    std::string nodes;
  };

  // Call with the mutex held.
  std::string textOf(const char *operation, int subject, int64_t step) const;

  const double started_; // seconds
  std::atomic<int64_t> begun_ = 0, step_ = 0;
  mutable std::mutex mutex_; // of the following
  std::vector<Entry> ring_;  // kKept entries
  std::vector<Subject> subjects_;
};

// Appends a line to RUN/flight-HOST.jsonl under a file lock; the host's first
// rank to fail replaces the lines of an earlier failure. If that fails, writes
// a file in the folder for temporary files, with a warning that names it.
// Returns whether this is the host's first line for this failure.
Result<bool> writeFlight(const FlightLog &log, const FlightLog::Owner &owner,
                         const std::string &run);

} // namespace dlc

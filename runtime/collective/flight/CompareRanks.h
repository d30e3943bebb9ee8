// SPDX-License-Identifier: Apache-2.0
// Compares the recorded collectives of a job's ranks.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

struct FlightCall {
  int64_t channel = 0, sequence = 0, step = 0, bytes = 0, subject = -1;
  std::string operation, state; // "waits", "done", "failed"
  double begin = 0;             // seconds since 1970, by its host's clock
  std::optional<double> end;
};

struct FlightSubject {
  int64_t bucket = 0;
  std::string nodes;
};

// The record of one rank (FlightLog.h).
struct Flight {
  std::string path, host, error;
  int rank = 0, ranks = 0;
  int64_t begun = 0; // collectives, of which the last are here
  std::vector<FlightSubject> subjects;
  std::vector<FlightCall> calls;
};

// Those of a file, a line each, of a rank the last one. Code::Corrupt, naming
// file and member, for an invalid line, but a last one that a killed rank has
// not completed is left out; Code::Limit for what is too large.
Result<std::vector<Flight>> readFlights(const std::string &path);

struct FlightFinding {
  enum Kind {
    Same,       // all that is known of all ranks agrees, and ended well
    Missing,    // some ranks began it, others did not
    Differs,    // ranks do different things in its place
    Unfinished, // all began the same, and it did not end well on all
  } kind = Same;
  std::vector<int> ranks, noFile; // of the job: with a file, and without
  int64_t channel = 0, sequence = 0;
  std::map<int, const FlightCall *> calls; // of the ranks that began it
  std::map<int, const FlightCall *> last;  // of the others: what they began
  std::vector<int> missing, waiting;       // ranks
};

// The first collective in which the ranks differ. The flights must outlive it.
// Code::Failed if two belong to one rank or to different jobs.
Result<FlightFinding> compareFlights(const std::vector<Flight> &flights);

} // namespace dlc

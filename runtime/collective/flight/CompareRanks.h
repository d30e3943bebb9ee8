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
  double begin = 0;             // seconds since 1970, by the host's clock
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
  int64_t begun = 0; // collectives begun, of which the last are listed
  std::vector<FlightSubject> subjects;
  std::vector<FlightCall> calls;
};

// Reads a file with one line per rank; a rank's last line is used.
// Code::Corrupt, naming file and member, for an invalid line, but an incomplete
// last line, of a killed rank, is skipped; Code::Limit for a too large file.
Result<std::vector<Flight>> readFlights(const std::string &path);

struct FlightFinding {
  enum Kind {
    Same,       // all ranks' known collectives agree and succeeded
    Missing,    // some ranks began it, others did not
    Differs,    // ranks called different collectives in its place
    Unfinished, // all ranks began it, and not all completed it
  } kind = Same;
  std::vector<int> ranks, noFile; // of the job: with a file, and without
  int64_t channel = 0, sequence = 0;
  std::map<int, const FlightCall *> calls; // of the ranks that began it
  std::map<int, const FlightCall *> last;  // the last call of each other rank
  std::vector<int> missing, waiting;       // ranks
};

// The first collective in which the ranks differ. The flights must outlive it.
// Code::Failed if two belong to one rank or to different jobs.
Result<FlightFinding> compareFlights(const std::vector<Flight> &flights);

} // namespace dlc

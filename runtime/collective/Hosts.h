// SPDX-License-Identifier: Apache-2.0
// This host, and which ranks share one.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

std::string hostName(); // of this machine, as the system calls it

// A rank's description of itself, sent to all others when they connect.
struct RankFacts {
  std::string host;
  bool byHosts = false; // Rendezvous has it

  std::string text() const; // a line each
  static RankFacts parse(const std::string &text);
};

// The ranks of each host, both in order, if the job reduces by hosts; empty
// otherwise, or where that has no effect, of which rank 0 warns. UsageError if
// ranks request different settings, or hosts have different numbers of ranks.
Result<std::vector<std::vector<int>>>
ranksByHost(const std::vector<RankFacts> &ranks, int self);

// How many consecutive ranks each host has, given the host of each rank.
// UsageError, naming a rank, unless all hosts have as many.
Result<int64_t> ranksOfEachHost(const std::vector<std::string> &hosts);

} // namespace dlc

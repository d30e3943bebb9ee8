// SPDX-License-Identifier: Apache-2.0
// Which ranks share a host.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

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

} // namespace dlc

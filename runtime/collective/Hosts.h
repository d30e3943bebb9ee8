// SPDX-License-Identifier: Apache-2.0
// Which ranks share a host.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

// What a rank tells all others of itself when they meet.
struct RankFacts {
  std::string host;
  bool byHosts = false;               // Rendezvous has it
  std::vector<std::string> addresses; // at which it sees the others

  std::string text() const; // a line each
  static RankFacts parse(const std::string &text);
};

// The ranks of each host, both in their order, if they are to reduce by hosts:
// else, or where that changes nothing, none; rank 0 warns of that. UsageError
// if ranks want different things, or hosts have different numbers of them.
Result<std::vector<std::vector<int>>>
ranksByHost(const std::vector<RankFacts> &ranks, int self);

} // namespace dlc

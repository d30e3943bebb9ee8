// SPDX-License-Identifier: Apache-2.0
// The name of this host, and which ranks share a host.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

std::string hostName(); // of this machine, by the system

// A rank's properties, sent to all other ranks when they connect.
struct RankFacts {
  std::string host;
  bool byHosts = false; // Rendezvous::byHosts

  std::string text() const; // one line each
  static RankFacts parse(const std::string &text);
};

// The ranks of each host, both in order, if the job reduces by hosts; empty
// otherwise, or where that has no effect, with a warning on rank 0. UsageError
// if settings differ between ranks, or numbers of ranks between hosts.
Result<std::vector<std::vector<int>>>
ranksByHost(const std::vector<RankFacts> &ranks, int self);

// The number of consecutive ranks on each host, given the host of each rank.
// UsageError, naming a rank, if hosts have different numbers of ranks or a
// host's ranks are not consecutive.
Result<int64_t> ranksOfEachHost(const std::vector<std::string> &hosts);

} // namespace dlc

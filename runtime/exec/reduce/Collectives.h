// SPDX-License-Identifier: Apache-2.0
// The commands all_reduce, reduce_scatter, all_gather and wait, which the
// executor implements instead of the device: they connect computation and
// communication.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/exec/reduce/Reducer.h"

#include <map>

namespace dlc {

// Binds the collectives of one program. Without a reducer there is one rank,
// and they do nothing: the mean over one rank is the value itself.
class CollectiveBinder {
public:
  CollectiveBinder(Reducer *reducer, int rank, int ranks)
      : reducer_(reducer), rank_(rank), ranks_(ranks) {}

  static bool binds(std::string_view kind) {
    return kind == "all_reduce" || kind == "reduce_scatter" ||
           kind == "all_gather" || kind == "wait";
  }
  // Code::Corrupt for a wait for a bucket that was not started.
  Result<std::unique_ptr<Command>> bind(const CommandSpec &spec);
  // The tickets of bound collectives, in order; empty without a reducer.
  const std::vector<int> &started() const { return started_; }
  // Marks a bucket that a device command has completed before the wait.
  void skip(int64_t bucket) { tickets_[bucket] = 0; }

private:
  Result<std::unique_ptr<Command>> bindAllReduce(const CommandSpec &spec,
                                                 int64_t bucket);

  // Requires more than one rank.
  Result<std::unique_ptr<Command>> bindReduceScatter(const CommandSpec &spec,
                                                     int64_t bucket);

  Result<std::unique_ptr<Command>> bindAllGather(const CommandSpec &spec,
                                                 int64_t bucket);

  std::unique_ptr<Command> collective(int64_t bucket, int ticket);

  Reducer *reducer_;
  const int rank_, ranks_;
  std::map<int64_t, int> tickets_; // by bucket
  std::vector<int> started_;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// The commands all_reduce, reduce_scatter, all_gather and wait, which are the
// executor's and not the device's: they join computation and communication.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/exec/reduce/Reducer.h"

#include <map>

namespace dlc {

// Binds the collectives of one program. With no reducer there is one rank and
// both commands do nothing: the mean over one is the value itself.
class CollectiveBinder {
public:
  CollectiveBinder(Reducer *reducer, int rank, int ranks)
      : reducer_(reducer), rank_(rank), ranks_(ranks) {}

  static bool binds(std::string_view kind) {
    return kind == "all_reduce" || kind == "reduce_scatter" ||
           kind == "all_gather" || kind == "wait";
  }
  // Code::Corrupt for a bucket that is waited for and was not started.
  Result<std::unique_ptr<Command>> bind(const CommandSpec &spec);
  // The bucket is there when it is waited for, by a command of the device.
  void skip(int64_t bucket) { tickets_[bucket] = 0; }

private:
  Result<std::unique_ptr<Command>> bindAllReduce(const CommandSpec &spec,
                                                 int64_t bucket);

  // Of more than one rank.
  Result<std::unique_ptr<Command>> bindReduceScatter(const CommandSpec &spec,
                                                     int64_t bucket);

  Result<std::unique_ptr<Command>> bindAllGather(const CommandSpec &spec,
                                                 int64_t bucket);

  Reducer *reducer_;
  const int rank_, ranks_;
  std::map<int64_t, int> tickets_; // by bucket
};

} // namespace dlc

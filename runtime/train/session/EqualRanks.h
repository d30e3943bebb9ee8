// SPDX-License-Identifier: Apache-2.0
// Whether ranks that train one model still have the same weights.
#pragma once

#include "runtime/exec/Executor.h"

namespace dlc {

// Compares parameters and moments of all ranks by hash, but for what one
// rank has alone (--zero). Code::Failed on all ranks where some differ: the
// message names the ranks that are not with most of the others, and the first
// tensor. All ranks call it between steps; the bytes that it sends are a hash a
// rank, and a hash a tensor if ranks differ.
class EqualRanks {
public:
  // Code::Usage, naming --check-ranks, if no rank has a whole parameter.
  static Result<EqualRanks> make(Executor &executor,
                                 Communicator &communicator);

  Status check(int64_t step);

private:
  EqualRanks(Executor &executor, Communicator &communicator)
      : executor_(executor), communicator_(communicator) {}

  Result<std::vector<uint64_t>> hashes();
  Status describe(int64_t step, const std::vector<std::string> &all,
                  std::vector<uint64_t> hashes);

  Executor &executor_;
  Communicator &communicator_;
  std::vector<std::string> names_; // of the states
  bool isTried_ = false;           // DLC_INJECT_BIT
};

} // namespace dlc

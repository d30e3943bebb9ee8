// SPDX-License-Identifier: Apache-2.0
// Checks that ranks that train one model have the same weights, and
// synchronises what each computes from its own samples: the running statistics
// of batch norms, and their averages.
#pragma once

#include "runtime/exec/Executor.h"
#include <array>
#include <string_view>

namespace dlc {

// Compares parameters and moments of all ranks by hash, without those that only
// one rank has (--zero). Code::Failed on all ranks if some differ; the message
// names the ranks outside of the largest group of equal ranks, and the first
// tensor. Collective, between steps; sends one hash per rank, and one per
// tensor only if ranks differ.
class EqualRanks {
public:
  // Code::Usage, naming --check-ranks, if no parameter is replicated.
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
  bool isTried_ = false;           // DLC_INJECT_BIT was applied
};

// Broadcast: rank 0's values, as torch's DDP. Mean: over ranks, summed in f64;
// integers are rank 0's. Each mean is rounded, so checkpoints at other steps
// may change the last bits of later means.
enum class BufferMode { Broadcast, Mean };
constexpr std::array<std::string_view, 2> kBufferModes = {"broadcast", "mean"};

// Collective; call before buffers are read or saved. Training steps only update
// buffers and do not read them, so this is equivalent to a broadcast before
// every step, without its cost.
Status settleBuffers(Executor &executor, Communicator &communicator,
                     BufferMode mode);

} // namespace dlc

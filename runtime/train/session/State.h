// SPDX-License-Identifier: Apache-2.0
// The state of a program in memory and in files.
#pragma once

#include "runtime/base/files/Safetensors.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Model.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace dlc {

// Loads all states of the plan from a safetensors file, or from a folder of
// parts (plan/parts/StateFiles.h). Code::Incompatible if a tensor is missing,
// unknown, or has another type or shape. Missing moments become zero if
// `mayOmitMoments`; missing accumulators always do.
Status loadState(Executor &executor, const std::string &path,
                 bool mayOmitMoments);

// The states that a rank writes: those that only it has (--zero), and a share
// of the replicated ones with about as many bytes as the others'; rank 0 also
// the rest, such as values that are specific to a rank.
struct Share {
  int rank = 0, ranks = 1;
  std::set<std::string> frozen = {}; // omitted: the artifact has them
};

// Constants with the same values as in this file, an artifact's state; if no
// other state was loaded, all constants that it has.
Result<std::set<std::string>>
frozenStates(Executor &executor, const std::string &path, bool isLoaded);

// Writes and syncs a new file with all states of the plan or a share of them;
// accumulators are omitted at the start of a window, when they are unused.
Result<FileDigest> saveState(Executor &executor, const std::string &path,
                             const Share &share = {});

// A copy in memory of what saveState() would write; reuses its allocation.
class StateCopy {
public:
  // Call at most once, before all other functions.
  void shareWith(Share share) { share_ = std::move(share); }
  // Allocates, so that take() only copies. Code::Limit if memory is short.
  Status reserve(Executor &executor);
  // Code::Diverged, with the tensor, if a float parameter is not finite.
  Status take(Executor &executor);
  // Writes the copy of the last take(). Thread-safe.
  Result<FileDigest> save(const std::string &path) const;

private:
  Status reserve(uint64_t bytes);

  Share share_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::unique_ptr<std::byte[]> memory_;
  uint64_t bytes_ = 0;
};

// Number of micro-batches accumulated since the last update.
Result<int64_t> windowPosition(Executor &executor);

// Broadcasts rank 0's state to all ranks, except the rank number.
Status broadcastState(Executor &executor, Communicator &communicator);

// Broadcasts rank 0's values of these states to all ranks.
Status broadcastStates(Executor &executor, Communicator &communicator,
                       std::span<const plan::State *const> states);

// Sets the rank that random number programs use; a file has rank 0's.
Status setRank(Executor &executor, int64_t rank);

// Contents of states, by name.
using StateBytes = std::map<std::string, std::vector<std::byte>>;

// Replaces each averaged state by its average in a set, counted from 1
// (plan/Averages.h), rounded to the state's type. Returns the previous values:
// restore them to continue training. Code::Failed if the plan has no such set.
Result<StateBytes> useAverages(Executor &executor, int set = 1);
Status restoreStates(Executor &executor, const StateBytes &states);

// Code::Diverged, with the tensor, if a float parameter that this rank writes
// is not finite.
Status checkFinite(Executor &executor, const Share &share = {});

// Continues a checkpoint with another program: another rate, optimizer,
// precision, batch, target or number of ranks, or another version of dlc.

// What a program has taken from a checkpoint's state.
struct Takeover {
  // Names of the optimizers. A different optimizer starts with new moments and
  // counts steps, also of its schedule, from 0.
  std::string before, now;
  bool startsOptimizer() const { return before != now; }

  size_t taken = 0; // number of states, matched by name
  // States that are missing in the checkpoint, or have another shape or type
  // there, and keep their compiled values; states converted from another float
  // type; tensors that are not states of the program.
  std::vector<std::string> missing, unlike, rounded, unused;
};

// Loads a checkpoint's state into an executor whose state is as compiled.
// Averages that the checkpoint lacks start with the values that they average.
// Counters of schedules and of micro-batch windows are the program's own.
// Called on rank 0, like loading a state. Code::Incompatible if no trained
// parameter matches.
Result<Takeover> takeOver(Executor &executor, const Model &from);

} // namespace dlc

// The state of a program in memory and in files.
#pragma once

#include "runtime/base/files/Safetensors.h"
#include "runtime/exec/Executor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dlc {

// Every state of the plan from a safetensors file. Code::Incompatible if a
// tensor is missing or has another type or shape, or is not the plan's. Moments
// that the file leaves out become zero if `mayOmitMoments`; accumulators
// always.
Status loadState(Executor &executor, const std::string &path,
                 bool mayOmitMoments);

// Writes and syncs a new file with every state of the plan; accumulators only
// within a window, as nothing reads them at its start.
Result<FileDigest> saveState(Executor &executor, const std::string &path);

// What saveState() would write, in memory of its own: about as many bytes as
// the state has, kept for the next one.
class StateCopy {
public:
  // Makes room, so that take() costs no more than copying. Code::Limit if there
  // is none.
  Status reserve(Executor &executor);
  // Code::Diverged, naming the tensor, if a float parameter is not finite.
  Status take(Executor &executor);
  // Of the last take(); any thread.
  Result<FileDigest> save(const std::string &path) const;

private:
  Status reserve(uint64_t bytes);

  std::vector<NamedTensor> tensors_;
  std::unique_ptr<std::byte[]> memory_;
  uint64_t bytes_ = 0;
};

// The micro-batches that were added up since the last update.
Result<int64_t> windowPosition(Executor &executor);

// Rank 0's state on all ranks, but for the number of the rank.
Status broadcastState(Executor &executor, Communicator &communicator);

// Rank 0's values of these states on all ranks.
Status broadcastStates(Executor &executor, Communicator &communicator,
                       std::span<const plan::State *const> states);

// Tells random programs which rank they run on; a file has rank 0's.
Status setRank(Executor &executor, int64_t rank);

// What states held, by name.
using StateBytes = std::map<std::string, std::vector<std::byte>>;

// Puts each average of a set, counted from 1 (plan/Averages.h), in the place of
// what it averages, rounded to that type, and gives what was there: restore it
// to go on training. Code::Failed if the plan has no such set.
Result<StateBytes> useAverages(Executor &executor, int set = 1);
Status restoreStates(Executor &executor, const StateBytes &states);

// Code::Diverged, naming the tensor, if a float parameter is not finite.
Status checkFinite(Executor &executor);

} // namespace dlc

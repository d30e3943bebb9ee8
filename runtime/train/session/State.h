// SPDX-License-Identifier: Apache-2.0
// The state of a program in memory and in files.
#pragma once

#include "runtime/base/files/Safetensors.h"
#include "runtime/exec/Executor.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace dlc {

// Every state of the plan from a safetensors file, or from a folder of parts
// (plan/parts/StateFiles.h). Code::Incompatible if a tensor is missing or has
// another type or shape, or is not the plan's. Moments that the file leaves out
// become zero if `mayOmitMoments`; accumulators always.
Status loadState(Executor &executor, const std::string &path,
                 bool mayOmitMoments);

// What a rank writes. Of several each writes a part: what it alone has
// (--zero), and of what all have alike about as many bytes as another; rank 0
// the rest, such as numbers that are a rank's own.
struct Share {
  int rank = 0, ranks = 1;
  std::set<std::string> frozen = {}; // is not written: the artifact has it
};

// Constants that have the values of this file, an artifact's state; all that it
// has where nothing else was loaded.
Result<std::set<std::string>>
frozenStates(Executor &executor, const std::string &path, bool isLoaded);

// Writes and syncs a new file with every state of the plan, or a part of them;
// accumulators only within a window, as nothing reads them at its start.
Result<FileDigest> saveState(Executor &executor, const std::string &path,
                             const Share &share = {});

// What saveState() would write, in memory of its own, kept for the next one.
class StateCopy {
public:
  // Once, before anything else.
  void shareWith(Share share) { share_ = std::move(share); }
  // Makes room, so that take() costs no more than copying. Code::Limit if there
  // is none.
  Status reserve(Executor &executor);
  // Code::Diverged, naming the tensor, if a float parameter is not finite.
  Status take(Executor &executor);
  // Of the last take(); any thread.
  Result<FileDigest> save(const std::string &path) const;

private:
  Status reserve(uint64_t bytes);

  Share share_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::string> metadata_;
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

// Code::Diverged, naming the tensor, if a float parameter is not finite, of
// those that this rank writes.
Status checkFinite(Executor &executor, const Share &share = {});

} // namespace dlc

// The state of a program in memory and in files.
#pragma once

#include "runtime/exec/Executor.h"

#include <string>

namespace dlc {

// Every state of the plan from a safetensors file. Code::Incompatible if a
// tensor is missing or has another type or shape, or is not the plan's. Moments
// that the file leaves out become zero if `mayOmitMoments`; accumulators
// always.
Status loadState(Executor &executor, const std::string &path,
                 bool mayOmitMoments);

// Writes and syncs a new file with every state of the plan; accumulators only
// within a window, as nothing reads them at its start.
Status saveState(Executor &executor, const std::string &path);

// The micro-batches that were added up since the last update.
Result<int64_t> windowPosition(Executor &executor);

// Rank 0's state on all ranks.
Status broadcastState(Executor &executor, Communicator &communicator);

// Exchanges each averaged state with its average in a set, counted from 1
// (plan/Averages.h): once to evaluate the averages, once more to go on
// training. Code::Failed if the plan has no such set.
Status exchangeAverages(Executor &executor, int set = 1);

// Code::Diverged, naming the tensor, if a float parameter is not finite.
Status checkFinite(Executor &executor);

} // namespace dlc

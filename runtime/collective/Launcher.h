// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job are started and learn who they are.
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// What follows when a rank is lost: it was killed, it ended alone with an error
// of its own, or the others waited for it in vain.
struct LostRanks {
  bool goOn = false; // with those that are left; else the job ends
  int fewest = 1;    // ranks to go on with
  int restarts = 10; // at most
  // When others have lost a rank and none is known to have failed: those that
  // do not end by themselves within so long are the lost ones. So are those
  // that are left so long after another one has ended well: but rank 0, which
  // may have something to write, only if it is stopped.
  std::chrono::milliseconds patience{63'000};
};

// Runs this program `count` times with the arguments given and waits for all:
// each child gets RANK, WORLD_SIZE, LOCAL_RANK, DLC_RENDEZVOUS (where rank 0
// listens, on 127.0.0.1) and a DLC_JOB_TOKEN of its own. kRunSignals
// are passed on, but those that this process was started to ignore. When one
// fails, the others get a moment to end and are then killed; when this process
// dies, so do they.
//
// With lost.goOn the ranks that are left are started again, numbered anew, each
// with its LOCAL_RANK; all of them when they lost each other and none is known
// to be at fault. Not before one has kept a note, and not after a signal.
//
// Returns the job's exit code: that of the rank that failed first in substance,
// 7 (and a message naming the rank) if a rank was killed, 128 + the signal that
// was passed on if they ended by it.
Result<int> runLocalRanks(int count, const std::vector<std::string> &arguments,
                          const LostRanks &lost = {});

// What a rank of runLocalRanks keeps for the ranks that are started after it;
// empty if nothing was kept. Nothing is kept in any other process.
std::string jobNote();
Status keepJobNote(const std::string &text);

} // namespace dlc

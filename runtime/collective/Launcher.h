// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a job.
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// What happens when a rank is lost: when one was killed, ended alone with its
// own error, or the others waited for it until a deadline.
struct LostRanks {
  bool goOn = false; // restart the remaining ranks; else the job ends
  int fewest = 1;    // ranks needed to restart
  int restarts = 10; // at most
  // When ranks report a lost rank and none is known to have failed, the ranks
  // that do not end on their own within this time are the lost ones. So are
  // ranks that remain for this time after another ended normally; rank 0, which
  // may still write files, only if it is stopped.
  std::chrono::milliseconds patience{63'000};
};

// Runs this program `count` times with the given arguments and waits for all.
// Each child gets RANK, WORLD_SIZE, LOCAL_RANK, DLC_RENDEZVOUS (rank 0's
// address, on 127.0.0.1) and its own DLC_JOB_TOKEN. kRunSignals are forwarded,
// except those that this process was started to ignore. When one fails, the
// others soon end or are killed; they also die with this process.
//
// With lost.goOn the remaining ranks are restarted with new ranks but their
// previous LOCAL_RANK; if they lost each other and no culprit is known, all
// are. None is restarted before a rank has stored a note, or after a signal.
//
// Returns the job's exit code: that of the rank whose own error came first; 7
// (and a message naming the rank) if a rank was killed; 128 + the forwarded
// signal that ended the ranks.
Result<int> runLocalRanks(int count, const std::vector<std::string> &arguments,
                          const LostRanks &lost = {});

// The note that a rank of runLocalRanks stores for the ranks of later restarts;
// empty if there is none. Other processes store nothing.
std::string jobNote();
Status keepJobNote(const std::string &text);

} // namespace dlc

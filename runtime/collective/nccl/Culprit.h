// SPDX-License-Identifier: Apache-2.0
// Finds the rank that caused a failed collective: all ranks exchange reports of
// what they observed, and draw the same conclusion.
#pragma once

#include "runtime/collective/DeviceCommunicator.h"

#include <optional>

namespace dlc {

// The report of one rank.
struct Report {
  enum Kind {
    Failed, // an error on this rank
    Late,   // a collective exceeded its deadline
    Told,   // NCCL reported that another rank failed
  } kind;
  uint64_t steps;  // begun by this rank
  uint64_t done;   // steps that its device has completed
  uint64_t inputs; // collectives whose inputs its device computed, 0 if unknown
  std::string what;
};

// Exchanges the reports, within the timeout of `control`. Code::PeerLost naming
// the culprit: the rank with an error (Code::Failed on that rank itself); or a
// rank that does not answer; or one that has not begun the step in which others
// wait; or one whose device has progressed less in it. Otherwise the message
// says that all ranks wait.
Status findCulprit(Communicator &control, const Report &own);

} // namespace dlc

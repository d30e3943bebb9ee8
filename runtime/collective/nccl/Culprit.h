// SPDX-License-Identifier: Apache-2.0
// The rank that caused a failed reduction: every rank reports what it saw, and
// all draw the same conclusion.
#pragma once

#include "runtime/collective/DeviceCommunicator.h"

#include <optional>

namespace dlc {

// The report of one rank.
struct Report {
  enum Kind {
    Failed, // something failed here
    Late,   // a reduction was not done in time
    Told,   // the library said that another rank failed
  } kind;
  uint64_t steps;  // that it had started
  uint64_t done;   // steps that its device had done
  uint64_t inputs; // of reductions that its device had computed, 0 if unknown
  std::string what;
};

// Exchanges the reports, within the timeout of `control`. PeerLost naming the
// culprit: the rank where something failed (Failed on that rank itself); or a
// rank that does not answer; or one that has not started the step that others
// wait in; or one whose device has progressed less in it; otherwise the error
// says that none is known.
Status findCulprit(Communicator &control, const Report &own);

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Which rank broke a reduction: each says what it saw, and one conclusion
// follows on all.
#pragma once

#include "runtime/collective/DeviceCommunicator.h"

#include <optional>

namespace dlc {

// What one rank saw.
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

// Exchanges the reports, within the timeout of `control`. PeerLost that names
// the rank where something failed, for which it is Failed; or which does not
// even answer; or which has not started the step that others wait in; or whose
// device, by its own account, came less far in it; else says that none is
// known.
Status findCulprit(Communicator &control, const Report &own);

} // namespace dlc

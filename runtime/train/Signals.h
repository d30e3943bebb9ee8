// SPDX-License-Identifier: Apache-2.0
// What signals ask of a run: kStopSignals to end after a checkpoint, SIGUSR1 to
// write one and go on.
#pragma once

#include "runtime/base/process/SignalHandlers.h"

namespace dlc {

struct SignalRequest {
  int stop = 0; // the signal to end by; 0: none
  bool save = false;
  bool end = false; // as `stop`: a callback of rank 0 asked
  bool timed =
      false; // a checkpoint is due by rank 0's clock, for any time soon

  bool ends() const { return stop != 0 || end; }
};

// Catches them while it lives; one at a time a process. A second SIGINT ends
// the process at once with code 130. Among ranks each may come twice, from the
// terminal and passed on by the launcher: then those of one source count.
class RunSignals {
public:
  RunSignals();

  // What has come: `stop` stays, `save` is asked once.
  SignalRequest take();
  // The same, waiting until one to stop comes, but not for long: one was
  // perhaps meant for this process, too.
  SignalRequest takeSoon();

private:
  SignalHandlers handlers_;
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// Signals of a run: kStopSignals end it after a checkpoint, SIGUSR1 writes one.
#pragma once

#include "runtime/base/process/SignalHandlers.h"

namespace dlc {

struct SignalRequest {
  int stop = 0; // the signal that ends the run; 0: none
  bool save = false;
  bool end = false; // a callback of rank 0 ended the run
  bool timed =
      false; // a checkpoint is due by rank 0's clock, at a step to be agreed

  bool ends() const { return stop != 0 || end; }
};

// Catches the signals during its lifetime; one instance per process. A second
// SIGINT ends the process immediately with code 130. A rank may receive a
// signal twice, from the terminal and from the launcher: only those from one
// source are counted.
class RunSignals {
public:
  RunSignals();

  // Returns and resets the request; `stop` remains set.
  SignalRequest take();
  // Like take(), but waits up to a second for a stop signal that another
  // process has received and this one probably will receive, too.
  SignalRequest takeSoon();

private:
  SignalHandlers handlers_;
};

} // namespace dlc

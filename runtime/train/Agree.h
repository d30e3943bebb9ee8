// SPDX-License-Identifier: Apache-2.0
// Makes all ranks see the same outcome.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/Signals.h"

#include <chrono>

namespace dlc {

// Collective: returns the error of the lowest rank that has one, else success.
Status agree(Communicator &communicator, const Status &own);

// Calls `act` on rank 0; all ranks get its outcome.
template <class Act> Status onRoot(Communicator &communicator, const Act &act) {
  return agree(communicator, communicator.rank() == 0 ? act() : Status());
}
template <class Act>
Status onOthers(Communicator &communicator, const Act &act) {
  return agree(communicator, communicator.rank() == 0 ? Status() : act());
}

// Makes a signal that any rank received known to all ranks at the same step; of
// different stop signals the first one of kStopSignals is used. Ranks
// communicate about five times a second; rank 0 announces the next step to do
// so.
class SignalAgreement {
public:
  // `always`: at every step, for ranks that may be unable to make the next one.
  explicit SignalAgreement(Communicator &communicator, bool always = false)
      : communicator_(communicator), always_(always) {}

  // Collective, at the end of every step.
  Result<SignalRequest> ask(SignalRequest own, int64_t step);

private:
  using Clock = std::chrono::steady_clock;

  Communicator &communicator_;
  const bool always_;
  SignalRequest pending_;
  int64_t agreedAt_ = 0, next_ = 0; // steps
  Clock::time_point last_ = Clock::now();
};

} // namespace dlc

// SPDX-License-Identifier: Apache-2.0
// One outcome on all ranks.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/Signals.h"

#include <chrono>

namespace dlc {

// Every rank tells how it fared; all get the error of the first rank that has
// one, or success.
Status agree(Communicator &communicator, const Status &own);

// What rank 0 does, or all others; its outcome on all ranks.
template <class Act> Status onRoot(Communicator &communicator, const Act &act) {
  return agree(communicator, communicator.rank() == 0 ? act() : Status());
}
template <class Act>
Status onOthers(Communicator &communicator, const Act &act) {
  return agree(communicator, communicator.rank() == 0 ? Status() : act());
}

// What signals ask of any rank, known to all at the same step: of different
// ones that end a run the first of kStopSignals. Ranks ask each other about
// five times a second; rank 0 says when the next time is.
class SignalAgreement {
public:
  // `always`: in every step, so that a rank that cannot make the next one need
  // not.
  explicit SignalAgreement(Communicator &communicator, bool always = false)
      : communicator_(communicator), always_(always) {}

  // At the end of every step, on all ranks.
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

// SPDX-License-Identifier: Apache-2.0
// The recorders of a run.
#pragma once

#include "runtime/train/Steps.h"
#include "runtime/train/record/Recorder.h"

namespace dlc {

// Rank 0 has those that the options enable, other ranks have none; all ranks
// may call it.
class Recorders {
public:
  static Result<Recorders> open(const Recorded &of);
  // Only progress messages, without a run folder; none with options.quiet.
  static Result<Recorders> ofProgress(const RunSetup &setup,
                                      const Progress &progress);

  // recorders.tell(&Recorder::onEnd, event)
  template <class... Parameters, class... Arguments>
  void tell(void (Recorder::*event)(Parameters...),
            const Arguments &...arguments) const {
    for (const auto &recorder : all_)
      (recorder.get()->*event)(arguments...);
  }
  // Calls onStep, and onStatistics if it is due.
  void tellStep(const StepReport &report, double shareWaited) const;
  void tellStepBeforeError(const StepReport &report) const;
  // Whether any recorder wants the run to end; all are called.
  bool wantEnd() const;

private:
  StepEvent eventOf(const StepReport &report) const;

  const RunSetup *setup_ = nullptr;
  std::vector<int64_t> counts_; // of samples
  std::vector<std::unique_ptr<Recorder>> all_;
};

} // namespace dlc

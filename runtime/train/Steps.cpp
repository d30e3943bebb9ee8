// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Steps.h"

#include "runtime/base/files/MappedFile.h"
#include "runtime/collective/flight/FlightLog.h"

namespace dlc {

Status Steps::start(Loader &loader) {
  const int64_t step = progress_.step + 1;
  Executor &executor = setup_.session->executor();
  if (FlightLog *log = setup_.ranks.flightLog())
    log->setStep(step);
  if (setup_.injects(step))
    executor.injectInfinity();
  DLC_ASSIGN(const Loader::Made *made, loader.next());
  const Clock::time_point since = Clock::now() - std::exchange(met_, {});
  const double waitedUntil = loader.waited();
  std::optional<double> blockedBefore = executor.secondsBlocked();
  if (blockedBefore)
    *blockedBefore -= std::exchange(metBlocked_, 0);
  for (int64_t i = 0; i < setup_.sampling.window; ++i) {
    if (i > 0) {
      DLC_ASSIGN(made, loader.next());
    }
    DLC_TRY(mappedFilesStatus());
    DLC_TRY(setup_.session
                ->startStep(made->batch, nullptr, setup_.data.sizes[made->set])
                .status());
  }
  const double waited =
      loader.waited() - std::exchange(waitedBefore_, loader.waited());
  const double making = loader.made();
  started_.push_back({step, since, waited,
                      making - std::exchange(madeBefore_, making),
                      loader.waited() - waitedUntil, blockedBefore});
  if (first_) { // its wait includes the loader's start
    waited_ += waited;
  } else {
    first_ = since;
    if (setup_.options.profile)
      executor.setProfiling(true);
  }
  progress_.step = step;
  progress_.cursor = made->end;
  return {};
}

Status Steps::meet() {
  Executor &executor = setup_.session->executor();
  const double blocked = executor.secondsBlocked().value_or(0);
  const Clock::time_point since = Clock::now();
  DLC_TRY(setup_.session->syncRanks());
  met_ += Clock::now() - since;
  metBlocked_ += executor.secondsBlocked().value_or(0) - blocked;
  return {};
}

Result<StepReport> Steps::read() {
  DLC_ASSIGN(const auto values, setup_.session->readMetrics());
  const Started started = started_.front();
  started_.pop_front();
  const Clock::time_point begin = std::max(started.since, lastRead_);
  lastRead_ = Clock::now();
  StepReport report{started.step, values,
                    std::chrono::duration<double>(lastRead_ - begin).count(),
                    started.waited, started.made};
  if (started.blockedBefore) {
    report.blocked =
        *setup_.session->executor().secondsBlocked() - *started.blockedBefore;
    report.computed = report.seconds - *report.blocked - started.waitedWithin;
  }
  return report;
}

double Steps::shareWaited() const {
  constexpr double kNothing = 0.1; // s: too short to judge
  if (waited_ < kNothing)
    return 0;
  const std::chrono::duration<double> all = Clock::now() - *first_;
  return waited_ / std::max(all.count(), 1e-9);
}

Status Steps::discard() {
  while (unread() > 0)
    DLC_TRY(read().status());
  return {};
}

} // namespace dlc

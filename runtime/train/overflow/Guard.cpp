// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/overflow/Guard.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"
#include "runtime/train/overflow/Overflow.h"
#include "runtime/train/overflow/Replay.h"

#include <cmath>

namespace dlc {

Guard::Guard(Job &job, Steps &steps)
    : job_(job), steps_(steps),
      maySkip_(job.reports("found_inf") || job.reports("skipped")),
      before_(job.session->plan(), job.options.debugOverflow
                                       ? Snapshot::Of::All
                                       : Snapshot::Of::Unguarded) {}

bool Guard::isDecisive(int64_t unread) const {
  return job_.options.debugOverflow ||
         (maySkip_ && skips_ + unread + 1 >= job_.options.maxSkips);
}

Status Guard::keepState() { return before_.take(job_.session->executor()); }

Status Guard::check(const StepReport &report,
                    const std::function<void()> &announce) {
  const TrainOptions &options = job_.options;
  const double loss = job_.metric(report.values, "loss");
  const bool skipped = job_.metric(report.values, "found_inf") > 0 ||
                       job_.metric(report.values, "skipped") > 0;
  if (!skipped && std::isfinite(loss)) {
    skips_ = 0;
    return {};
  }
  const bool ends = !skipped || ++skips_ >= options.maxSkips;
  if (!ends && !options.debugOverflow)
    return {};
  announce();
  const std::string what =
      skipped ? fmt::format("step {} was skipped, the {}. in a row",
                            report.step, skips_)
              : fmt::format("the loss is {} at step {}",
                            std::isnan(loss) ? NAN : loss, report.step);
  Incident incident{report.step,
                    options.threads,
                    job_.communicator.size(),
                    job_.infiniteSteps.count(report.step) > 0,
                    0,
                    what,
                    metricTexts(*job_.session, report.values)};
  DLC_TRY(goBack(report.step, skipped));
  DLC_ASSIGN(const Job::Window window, job_.windowOf(report.step));
  incident.size = window.size;
  const std::string bundle = fmt::format("{}/replay-{}", job_.run, report.step);
  Status kept;
  if (ends)
    kept = writeBundle(bundle, *job_.session, job_.communicator, window.batches,
                       incident);
  if (kept.code() == Code::PeerLost)
    return kept;
  if (options.debugOverflow) {
    DLC_ASSIGN(const std::string place,
               findOverflow(*job_.session, job_.communicator, window.batches,
                            window.size, job_.injects(report.step)));
    if (job_.isRoot())
      warning("{}: {}", what, place.empty() ? "all values are finite" : place);
  }
  if (!ends)
    return {};
  job_.communicator.agreeToEnd(); // the loss is the same on all ranks
  const std::string replay =
      kept.ok()
          ? fmt::format("dlc debug replay {} does it again and names the node",
                        shellQuoted(bundle))
          : fmt::format("it cannot be replayed ({})", kept.message());
  return diverged("{}: training diverged; the last checkpoint in '{}' precedes "
                  "this step; {}; try a lower learning rate or --clip-grad",
                  what, job_.run, replay);
}

// To the state before a step; what was started after it is undone.
Status Guard::goBack(int64_t step, bool skipped) {
  DLC_TRY(steps_.discard());
  if (skipped || job_.options.debugOverflow) // then it was decisive
    return before_.restore(job_.session->executor());
  DLC_TRY(job_.restore());
  if (job_.isRoot() && job_.progress.step + 1 < step)
    info("repeating steps {} to {} to save the state before step {}",
         job_.progress.step + 1, step - 1, step);
  Loader loader(job_.data.sets, job_.sampling, job_.progress.step, step - 1);
  while (job_.progress.step + 1 < step) {
    DLC_TRY(steps_.start(loader));
    DLC_TRY(steps_.discard());
  }
  job_.progress.step = step;
  return {};
}

} // namespace dlc
